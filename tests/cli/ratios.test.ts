/** Price maps at the terminal: setting, resetting, and what is said of it. */
import { expect, test } from 'vitest';
import { get, list, reset, set } from '../../cli/commands/ratios/ratios.ts';
import { applyProposal, proposals, rejectProposal } from '../../cli/commands/ratios/versions.ts';
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

const change = (name: string) => ({ key: 'ModelRatio', name, before: '1', after: '2' });
const shipped = {
  source: 'shipped',
  from: '',
  at: 1_764_244_800,
  changes: [change('a'), change('b')],
  held: [],
  error: '',
};
const listed = {
  ...{ source: 'list', from: 'https://prices.example/list', at: 1_764_331_200 },
  ...{ changes: [change('c')], held: [{ name: 'd', reason: 'threefold' }], error: 'HTTP 503' },
};
const decided = { 'ratio.apply_proposal': { version: 9, changes: [] }, 'ratio.reject_proposal': { rejected: 1 } };
const yes = { yes: true };

test('prices that wait are listed with their source and day, with what is held back and what failed', async () => {
  const all = { 'ratio.proposals': [shipped, listed] };
  const { out, notes } = await atTerminal(proposals, { answers: all, global: { output: 'csv' } });
  expect(out.trim().split(/\r?\n/)).toEqual([
    'source,date,option,name,before,after',
    'shipped,2025-11-27,ModelRatio,a,1,2',
    'shipped,2025-11-27,ModelRatio,b,1,2',
    'list,2025-11-28,ModelRatio,c,1,2',
  ]);
  expect(notes).toContain('d: moves threefold');
  expect(notes).toContain('https://prices.example/list: HTTP 503');
  const flags = { source: 'list' };
  expect((await atTerminal(proposals, { answers: all, flags })).out).not.toContain('shipped');
  await expect(atTerminal(proposals, { answers: all, flags: { source: 'x' } })).rejects.toMatchObject({
    code: 'usage',
  });
});

test.each([
  ['apply', applyProposal, 'ratio.apply_proposal'],
  ['reject', rejectProposal, 'ratio.reject_proposal'],
] as const)('%s acts on all or on names, and needs the source where both propose', async (_verb, command, id) => {
  const one = { ...decided, 'ratio.proposals': [shipped, { ...listed, changes: [] }] };
  const all = await atTerminal(command, { answers: one, global: yes });
  expect(all.calls.at(-1)).toEqual([id, { source: 'shipped', at: shipped.at }]);
  const named = await atTerminal(command, { answers: one, args: ['b'], global: yes });
  expect(named.calls.at(-1)).toEqual([id, { source: 'shipped', at: shipped.at, names: ['b'] }]);
  const both = { ...decided, 'ratio.proposals': [shipped, listed] };
  await expect(atTerminal(command, { answers: both, global: yes })).rejects.toMatchObject({ code: 'input_needed' });
  const chosen = await atTerminal(command, { answers: both, flags: { source: 'list' }, global: yes });
  expect(chosen.calls.at(-1)).toEqual([id, { source: 'list', at: listed.at }]);
});

test('prices are not applied without a question', async () => {
  const asked = await atTerminal(applyProposal, { answers: { ...decided, 'ratio.proposals': [shipped] } });
  expect(asked.questions).toEqual(['Store 2 changes?']);
});

test('a reset that is confirmed by --yes asks nothing and repeats no command, one without changes nothing first', async () => {
  const done = await atTerminal(reset, { answers, global: { yes: true } });
  expect(done.out).toContain('backup version 7');
  expect([done.questions, done.lines]).toEqual([[], []]);
  expect(done.calls.at(-1)).toEqual(['option.reset_ratios']);
  const planned = await atTerminal(reset, { answers, flags: { dryRun: true } });
  expect(planned.out).toMatch(/^- other +3$/m);
  expect(planned.calls).toEqual([['option.list']]);
});
