/** Log and invoices from the command line: an administrator sees everybody's, a user what is his own and never another's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settle } from '../ledger/support.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let api: ApiFixture;
let asRoot: Runner;
let asAnn: Runner;
let numbers: readonly string[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-cli-'));
  api = await createApiFixture();
  const { gateway } = api;
  const runnerOf = async (id: number, headers: Headers) => {
    const { data: token } = (await api.send('GET', '/api/user/token', undefined, headers)).body as { data: string };
    return createRunner(dir, { GATEWAY_TOKEN: token, GATEWAY_USER: String(id) }, ['--url', api.base]);
  };
  const root = await api.addUser('root', 100);
  const people = [await api.addUser('ann', 1), await api.addUser('ben', 1)];
  asRoot = await runnerOf(root.id, root.headers);
  asAnn = await runnerOf(people[0]?.id ?? 0, people[0]?.headers ?? {});
  await gateway.option('invoice.seller_name', 'Acme Ltd.');
  for (const [at, { id }] of people.entries()) {
    await gateway.rows(
      "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, ?, 'stripe', 10, 5000000, 7300, 'usd', 1)",
      ...[id, `T${at}`],
    );
    await api.send('POST', '/api/user/topup/complete', { trade_no: `T${at}` }, root.headers);
    const username = at === 0 ? 'ann' : 'ben';
    const command = { ...settle(`request-${at}`, id, 10 + at), username };
    const row = { createdAt: 7200 + at, username, requestId: `request-${at}`, names: { session: 's' }, type: 2 };
    await gateway.ledger.execute({ ...command, log: command.log === null ? null : { ...command.log, ...row } });
  }
  const made = await asRoot.json<{ number: string; username: string }[]>(['invoice', 'list']);
  numbers = ['ann', 'ben'].map((name) => made.find(({ username }) => username === name)?.number ?? '');
});
afterAll(async () => {
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Row {
  readonly username: string;
  readonly request_id: string;
}
const names = async (runner: Runner, ...words: string[]) =>
  (await runner.json<Row[]>(words)).map(({ username }) => username).sort();

test('lists show everybody to an administrator, and a user only himself', async () => {
  expect(await names(asRoot, 'invoice', 'list')).toEqual(['ann', 'ben']);
  expect(await names(asAnn, 'invoice', 'list')).toEqual(['ann']);
  expect(await names(asAnn, 'invoice', 'list', '--kind', 'credit_note')).toEqual([]);
  expect(await names(asRoot, 'logs', 'list', '--type', 'consume')).toEqual(['ann', 'ben']);
  expect(await names(asAnn, 'logs', 'list', '--type', 'consume')).toEqual(['ann']);
  expect(await names(asAnn, 'logs', 'list', '--model', 'other')).toEqual([]);
});

test('one row, its explanation, an invoice and a conversation are a user’s where they are his own', async () => {
  expect(await asAnn.json(['logs', 'get', 'request-0'])).toMatchObject({ username: 'ann' });
  expect(await asAnn.json(['logs', 'explain', 'request-0'])).toMatchObject({ log: { username: 'ann' } });
  expect(await asAnn.json(['invoice', 'get', numbers[0] ?? ''])).toMatchObject({ number: numbers[0] });
  expect(await asAnn.json(['logs', 'conversation', 's'])).toMatchObject({ username: 'ann', quota: 10 });
  expect(await asRoot.json(['logs', 'conversation', 's', '--user', 'ben'])).toMatchObject({
    username: 'ben',
    quota: 11,
  });
  const others = [
    ['logs', 'get', 'request-1'],
    ['logs', 'explain', 'request-1'],
    ['invoice', 'get', numbers[1] ?? ''],
  ];
  for (const words of others)
    await expect(asAnn.run(words), words.join(' ')).rejects.toMatchObject({ code: 'not_found' });
});

test.each([
  [['invoice', 'list', '--user', 'ben']],
  [['logs', 'list', '--user', 'ben']],
  [['logs', 'list', '--channel', '1']],
  [['logs', 'conversation', 's', '--user', 'ben']],
])('a user who asks for those of others gets none, and not his own instead: %j', async (words) => {
  await expect(asAnn.run(words)).rejects.toMatchObject({ code: 'role_too_low' });
});
