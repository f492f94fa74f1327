/** What an operator is told by commands that change settings and look after the site. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { announce } from '../../cli/parts/access.ts';
import { openOld } from '../support/old-schema.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'operating-'));
  runner = createRunner(dir);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('a migration says whether it changed anything', async () => {
  mkdirSync(join(dir, 'data'));
  await openOld(join(dir, 'data', 'gateway.db'), '0003-live-tokens').close();
  expect(await runner.json(['db', 'migrate'])).toMatchObject({ result: 'updated' });
  expect(await runner.json(['db', 'migrate'])).toMatchObject({ result: 'unchanged' });
});

const stored = (key: string) => runner.run(['option', 'get', key]);

test.each([
  ['a secret on the command line', 'backup_setting.s3_secret=hush', 'usage'],
  ['a value that is not valid', 'backup_setting.every_hours=soon', 'option_invalid'],
  ['an unknown option', 'backup_setting.bucket=copies', 'option_unknown'],
])('several options are set together or not at all: %s in the last place', async (_what, last, code) => {
  const assignments = ['backup_setting.s3_bucket=copies', 'backup_setting.s3_region=eu-central-1', last];
  await expect(runner.run(['option', 'set', ...assignments])).rejects.toMatchObject({ code });
  expect([await stored('backup_setting.s3_bucket'), await stored('backup_setting.s3_region')]).toEqual(['', '']);
  await runner.run(['option', 'set', ...assignments.slice(0, 2)]);
  expect(await stored('backup_setting.s3_bucket')).toBe('copies');
});

test('doctor reports a failed backup although none is scheduled, in the reader’s language', async () => {
  await runner.run(['option', 'set', 'backup_setting.s3_bucket=copies']);
  await expect(runner.run(['backup', 'run'])).rejects.toMatchObject({ code: 'backup_failed' });
  for (const [language, words] of [
    ['en', /^not scheduled; the last try failed: the bucket has no credentials/],
    ['zh', /^未设置定时备份；上次尝试失败：缺少对象存储的密钥/],
  ] as const) {
    const said = createRunner(dir, {}, [], language);
    const rows: { check: string; detail: string }[] = await said.json(['doctor']);
    expect(rows.find(({ check }) => check === 'backups')?.detail).toMatch(words);
    expect(await said.run(['backup', 'status'])).toMatch(language === 'en' ? /no credentials/ : /缺少对象存储/);
  }
});

test.each([
  ['http://127.0.0.1:3000/ai', 'https://example.com/ai/', null],
  ['http://127.0.0.1:3000', 'https://example.com', null],
  ['http://127.0.0.1:3000/ai', '', null],
  ['http://127.0.0.1:3000/ai', 'https://example.com', 'gateway option set ServerAddress=https://example.com/ai'],
  ['http://127.0.0.1:3000', 'https://example.com/ai', 'gateway option set ServerAddress=https://example.com'],
])('doctor compares the path of the site with its address: %s, %j', async (listening, address, fix) => {
  if (address !== '') await runner.run(['option', 'set', `ServerAddress=${address}`]);
  const proxy = async () => {
    const rows: { check: string; result: string; fix?: string }[] = await runner.json(['doctor']);
    return rows.find(({ check }) => check === 'proxy');
  };
  await runner.json(['option', 'list']);
  const forget = announce(join(dir, 'data'), listening);
  expect(await proxy()).toMatchObject(fix === null ? { result: 'ok' } : { result: 'warn', fix });
  forget();
  // The path of a server that does not run is unknown.
  expect(await proxy()).toMatchObject({ result: 'ok' });
});

test('doctor counts budgets, and warns where keys that leak cannot be stopped', async () => {
  const budgets = async () => {
    const rows: { check: string; result: string; detail: string; fix?: string }[] = await runner.json(['doctor']);
    return rows.find(({ check }) => check === 'budgets');
  };
  expect(await budgets()).toBeUndefined();
  await runner.run(['budget', 'set', '--site', '--window', 'request', '--amount', '32000']);
  expect(await budgets()).toMatchObject({ result: 'ok', detail: '1' });
  await runner.run(['option', 'set', 'budgets.leak_stop=true']);
  expect(await budgets()).toMatchObject({ result: 'ok' });
  await runner.run(['option', 'set', 'LogConsumeEnabled=false']);
  expect(await budgets()).toMatchObject({ result: 'warn', fix: 'gateway option set LogConsumeEnabled=true' });
});

test('doctor says where programs may sign in whether they can from other machines', async () => {
  const programs = async () => {
    const rows: { check: string; result: string; fix?: string }[] = await runner.json(['doctor']);
    return rows.find(({ check }) => check === 'programs');
  };
  expect(await programs()).toBeUndefined();
  await runner.run(['option', 'set', 'agents.sign_in=true']);
  const fix = 'gateway option set ServerAddress=https://...';
  expect(await programs()).toMatchObject({ result: 'warn', fix });
  await runner.run(['option', 'set', 'ServerAddress=http://gateway.example.com']);
  expect(await programs()).toMatchObject({ result: 'warn', fix });
  await runner.run(['option', 'set', 'ServerAddress=https://gateway.example.com']);
  expect(await programs()).toMatchObject({ result: 'ok' });
  await runner.run(['option', 'set', 'ServerAddress=', 'general_setting.trusted_proxies=127.0.0.1']);
  expect(await programs()).toMatchObject({ result: 'ok' });
});
