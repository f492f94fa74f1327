/** Price maps at the terminal: setting, resetting, and what is said of it. */
import { expect, test } from 'vitest';
import { get, list, reset, set } from '../../cli/commands/ratios/ratios.ts';
import { atTerminal } from './at-terminal.ts';

const stored = [
  { key: 'ModelRatio', value: '{"a=b":1,"other":3}' },
  { key: 'GroupRatio', value: '' },
];
const answers = {
  'option.list': stored,
  'option.set': { result: 'updated' },
  'option.reset_ratios': { version: 7 },
};

test('a ratio follows the last =, an empty one removes the name, and a number is needed', async () => {
  const args = ['ModelRatio', 'a=b=0', 'other=', 'new=0.5'];
  expect((await atTerminal(set, { answers, args })).calls).toEqual([
    ['option.list'],
    ['option.set', { key: 'ModelRatio', value: '{"a=b":0,"new":0.5}' }],
  ]);
  for (const wrong of ['=1', '=', 'other', 'other=x'])
    await expect(atTerminal(set, { answers, args: ['ModelRatio', wrong] }), wrong).rejects.toMatchObject({
      code: 'usage',
      params: { detail: expect.stringContaining(wrong) },
    });
  await expect(atTerminal(set, { answers, args: ['ModelRatio'] })).rejects.toMatchObject({ code: 'input_needed' });
  await expect(atTerminal(set, { answers, args: ['Nothing', 'a=1'] })).rejects.toMatchObject({ code: 'usage' });
});

test('a list names map, name and ratio; a name is found in every map that has it', async () => {
  expect((await atTerminal(list, { answers, global: { output: 'csv' } })).out.trim().split(/\r?\n/)).toEqual([
    'map,name,ratio',
    'ModelRatio,a=b,1',
    'ModelRatio,other,3',
  ]);
  const found = await atTerminal(get, { answers, args: ['other'], global: { json: '' } });
  expect(JSON.parse(found.out)).toEqual({ name: 'other', ModelRatio: 3 });
  await expect(atTerminal(get, { answers, args: ['gone'] })).rejects.toMatchObject({ code: 'not_found' });
});

test('a reset that is confirmed by --yes asks nothing and repeats no command, one without changes nothing first', async () => {
  const done = await atTerminal(reset, { answers, global: { yes: true } });
  expect(done.out).toContain('backup version 7');
  expect([done.questions, done.lines]).toEqual([[], []]);
  expect(done.calls.at(-1)).toEqual(['option.reset_ratios']);
  const planned = await atTerminal(reset, { answers, flags: { dryRun: true } });
  expect(planned.out).toContain('- ModelRatio  other  3');
  expect(planned.calls).toEqual([['option.list']]);
});
