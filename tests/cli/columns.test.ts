/** Lists, flags and files of commands whose rows do not come from one endpoint. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
const file = (name: string, content: string): string => {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
};
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-columns-'));
  runner = createRunner(dir);
  await runner.run(['setup', '--username', 'root', '--password-file', file('password', 'password1')]);
  const channel = ['channel', 'add', '--name', 'c', '--type', 'practice', '--key-file', file('key', 'k')];
  await runner.run([...channel, '--models', 'practice-small,gpt-unknown-1']);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('models are listed with their price and who serves them', async () => {
  const [heads = '', ...rows] = (await runner.run(['model', 'list', '-o', 'csv'])).split('\n');
  expect(heads.trim()).toBe('model,price,channels');
  expect(rows.map((row) => row.trim()).sort()).toEqual([
    'gpt-unknown-1,UNSET,c',
    expect.stringMatching(/^practice-small,ratio [\d.]+,c$/),
  ]);
});

test.each(['--priority', '--weight'])('a number that cannot be read is named by its flag: %s', async (flag) => {
  await expect(runner.run(['channel', 'edit', 'c', flag, 'much'])).rejects.toMatchObject({
    code: 'usage',
    params: { detail: expect.stringContaining(flag) },
  });
});

test('a mapping is taken as it stands, or out of a file', async () => {
  for (const [given, stored] of [
    ['{"a":"practice-small"}', 'a'],
    [`@${file('mapping', '{"b":"practice-small"}\n')}`, 'b'],
  ] as const) {
    await runner.run(['channel', 'edit', 'c', '--mapping', given]);
    const channel = await runner.json<{ model_mapping: string }>(['channel', 'get', 'c']);
    expect(JSON.parse(channel.model_mapping)).toEqual({ [stored]: 'practice-small' });
  }
  await expect(runner.run(['channel', 'edit', 'c', '--mapping', '@/nowhere'])).rejects.toMatchObject({ code: 'usage' });
});

test('a ratio is taken after its last =, also none, and what a reset would change is said without doing it', async () => {
  await runner.run(['ratios', 'set', 'ModelRatio', 'a=b=0', 'other=3']);
  expect(await runner.json(['ratios', 'get', 'a=b'])).toMatchObject({ ModelRatio: 0 });
  for (const wrong of ['=1', 'other=x'])
    await expect(runner.run(['ratios', 'set', 'ModelRatio', wrong])).rejects.toMatchObject({ code: 'usage' });
  const said = await runner.run(['ratios', 'reset', '--dry-run', '-o', 'table']);
  expect(said).toMatch(/^- other {2}3$/m);
  await runner.run(['ratios', 'set', 'ModelRatio', 'other=']);
  await expect(runner.run(['ratios', 'get', 'other'])).rejects.toMatchObject({ code: 'not_found' });
});

test('a ratio is changed by a share of what it is, with its sign alone, and only where there is one', async () => {
  const ratio = async () => (await runner.json<{ ModelRatio: number }>(['ratios', 'get', 'own'])).ModelRatio;
  const set = (by: string) => runner.run(['ratios', 'set', 'ModelRatio', `own=${by}`]);
  await set('2.5');
  for (const [by, expected] of [
    ['+20%', 3],
    ['-10%', 2.7],
    ['+33.3333%', 3.5999991],
    ['-100%', 0],
  ] as const) {
    await set(by);
    expect([by, await ratio()]).toEqual([by, expected]);
  }
  for (const wrong of ['20%', '+x%', '-101%', '+%%']) await expect(set(wrong)).rejects.toMatchObject({ code: 'usage' });
  await expect(runner.run(['ratios', 'set', 'ModelRatio', 'none=+20%'])).rejects.toMatchObject({ code: 'not_found' });
});

test('codes are disabled and enabled again', async () => {
  await runner.run(['redemption', 'create', '--name', 'gift', '--quota', '1usd']);
  const code = async () => {
    const [first] = await runner.json<{ id: number; status: number }[]>(['redemption', 'list']);
    return first;
  };
  const id = String((await code())?.id);
  await runner.run(['redemption', 'disable', id]);
  expect((await code())?.status).toBe(2);
  await runner.run(['redemption', 'enable', id]);
  expect((await code())?.status).toBe(1);
});
