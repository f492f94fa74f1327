import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pastTime } from '../../cli/parts/when.ts';
import { createRunner } from './runner.ts';

let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-cli-'));
  const password = join(dir, 'password');
  writeFileSync(password, 'password1');
  await run('setup', '--username', 'root', '--password-file', password, '--mode', 'external');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const run = (...args: readonly string[]) => createRunner(dir).run(args);
const json = async (...args: readonly string[]) => JSON.parse(await run(...args, '--json')) as never;

test('codes: a batch for a script, then edited, disabled and cleared away', async () => {
  const codes = (await run('redemption', 'create', '--quota', '2usd', '--count', '3', '--name', 'spring', '-q')).split(
    '\n',
  );
  expect(codes).toHaveLength(3);
  expect(await run('redemption', 'get', '1', '-q')).toBe(codes[0]);
  await run('redemption', 'edit', '1', '--quota', '700');
  await run('redemption', 'disable', '2');
  expect(await json('redemption', 'list', '--search', 'spr')).toMatchObject([
    { id: 3, quota: 1_000_000, status: 1 },
    { id: 2, status: 2 },
    { id: 1, quota: 700 },
  ]);
  expect(await run('redemption', 'prune', '--yes', '-q')).toBe('1');
  await run('redemption', 'rm', '3', '--yes');
  expect(await run('redemption', 'list', '-q')).toBe('1');
  await expect(run('redemption', 'create')).rejects.toMatchObject({ code: 'input_needed' });
  await expect(run('redemption', 'create', '--quota', '-5')).rejects.toMatchObject({ code: 'usage' });
});

test('payments: nothing yet, and no order that does not exist', async () => {
  expect(await json('payment', 'list')).toEqual([]);
  expect(await json('payment', 'callbacks', '--outcome', 'unmatched')).toEqual([]);
  await expect(run('payment', 'complete', 'USR1NO1', '--yes')).rejects.toMatchObject({ code: 'not_found' });
});

test('ratios: history, difference, going back, proposals', async () => {
  await run('option', 'set', 'ModelRatio={"a":1,"b":1}');
  await run('option', 'set', 'ModelRatio={"a":2}');
  const [newest] = (await json('ratios', 'history')) as { id: number }[];
  expect(await run('ratios', 'diff', String(newest?.id))).toBe('ModelRatio\ta\t1\t2\nModelRatio\tb\t1\t-');
  await run('ratios', 'rollback', String(newest?.id), '--yes');
  expect(await run('option', 'get', 'ModelRatio')).toBe('{"a":1,"b":1}');
  const list = join(dir, 'prices.json');
  writeFileSync(list, '{"data":{"model_ratio":{"a":2}}}');
  expect(await run('ratios', 'sync', '--from', list)).toBe('ModelRatio\ta\t1\t2');
  expect(await run('option', 'get', 'ModelRatio')).toBe('{"a":1,"b":1}');
  await run('ratios', 'sync', '--from', list, '--apply', '--yes');
  expect(await run('option', 'get', 'ModelRatio')).toBe('{"a":2,"b":1}');
  await expect(run('ratios', 'sync', '--from', join(dir, 'none.json'))).rejects.toMatchObject({ code: 'usage' });
});

test('ratios simulate takes single entries and whole maps', async () => {
  expect(await json('ratios', 'simulate', '--set', 'ModelRatio.a.b-1=3', '--set', 'GroupRatio={"default":1}')).toEqual({
    requests: 0,
    before: 0,
    after: 0,
    models: [],
  });
  for (const bad of ['ModelRatio', 'ModelRatio.a=x', 'ModelRatio={'])
    await expect(run('ratios', 'simulate', '--set', bad)).rejects.toMatchObject({
      code: expect.stringMatching(/usage|option_invalid/),
    });
});

test('logs: verified, summed up, exported, cleared', async () => {
  expect(await json('logs', 'verify')).toEqual({ checked: 0, unequal: 0, wrong: [] });
  expect(await json('logs', 'stat', '--by', 'channel', '--margin')).toEqual([]);
  expect(await run('logs', 'export', '--since', '1d')).toMatch(/^time_utc,type,status,/);
  expect(await run('logs', 'prune', '--before', '2020-01-01', '--yes', '-q')).toBe('0');
  await expect(run('logs', 'export', '--format', 'xml')).rejects.toMatchObject({ code: 'usage' });
});

test('a token with budgets and limits', async () => {
  await run('token', 'create', '--name', 'ci', '--day-budget', '1usd', '--rpm', '10', '--concurrency', '2');
  expect(await json('token', 'list')).toMatchObject([
    { name: 'ci', day_budget: 500_000, month_budget: 0, rpm_limit: 10, tpm_limit: 0, concurrency_limit: 2 },
  ]);
});

test.each([
  ['90s', 910],
  ['2h', -6200],
  ['1970-01-01T00:10:00Z', 600],
])('%s is a moment', (given, seconds) => {
  expect(pastTime(given, '--since', 1_000_000)).toBe(seconds);
});
