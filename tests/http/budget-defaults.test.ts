/** Budgets that new users and keys get, as the options say. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await createTestGateway({ engine: 'sqlite', quota: 1_000_000 });
});
afterEach(() => gateway.close());

const member = async (username: string): Promise<number> => {
  const { id } = (await gateway.call('user.create', { username, password: 'long-enough-1' })) as { id: number };
  return id;
};
const budgets = async (holder: 'user' | 'token', id: number) =>
  (await gateway.services.budgets.list(holder, String(id))).map(({ window, unit, amount, zone, used }) => ({
    window,
    unit,
    amount,
    zone,
    used,
  }));

test('a new user gets the budgets of the option, one who was there keeps what he has, and an administrator gets none', async () => {
  const before = await member('before');
  await gateway.option('budgets.new_user', 'month 20usd\n5h 200 requests\nday 1000 Asia/Shanghai');
  const after = await member('after');
  expect(await budgets('user', after)).toEqual([
    { window: 'month', unit: 'money', amount: 10_000_000, zone: '', used: 0 },
    { window: '5h', unit: 'requests', amount: 200, zone: '', used: 0 },
    { window: 'day', unit: 'money', amount: 1000, zone: 'Asia/Shanghai', used: 0 },
  ]);
  expect(await budgets('user', before)).toEqual([]);
  const plain = { password: 'x', displayName: 'x', quota: 0 };
  const root = await gateway.services.users.create({ ...plain, username: 'boss', role: 10 });
  expect(await budgets('user', root)).toEqual([]);
});

test('a new key is bound by the budgets of the option from its first request on', async () => {
  const upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  await gateway.channel(upstream.url);
  const owner = await member('mira');
  await gateway.call('user.manage', { id: owner, action: 'add_quota', mode: 'add', value: 100_000 }).catch(() => 0);
  await gateway.option('budgets.new_key', 'total 0 requests\nrequest 32000');
  const { id, key } = await gateway.services.tokens.create(owner, { name: 'k', unlimited_quota: true });
  await gateway.sync();
  expect(await budgets('token', id)).toEqual([
    { window: 'total', unit: 'requests', amount: 0, zone: '', used: 0 },
    { window: 'request', unit: 'tokens', amount: 32_000, zone: '', used: 0 },
  ]);
  const response = await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  expect(((await response.json()) as { error: { code: string } }).error.code).toMatch(
    /budget_token_total|user_exhausted/,
  );
  await upstream.stop();
});

test.each([
  ['another window', 'year 5usd'],
  ['no amount', 'month'],
  ['another unit', 'month 5 cents'],
  ['money in requests', 'month 5usd requests'],
  ['a zone that is not there', 'day 5usd Mars/Base'],
  ['a single request in money', 'request 5usd'],
  ['a single request with a zone', 'request 5 Asia/Shanghai'],
  ['a window and unit twice', 'day 5usd\nday 6usd'],
  ['half a unit of quota', 'day 0.5'],
  ['money finer than is counted', 'day 0.0000001usd'],
  ['more than can be had', 'day 9999999999999usd'],
  ['words behind it', 'day 5usd UTC please'],
])('%s is refused when the option is saved', async (_name, text) => {
  await expect(gateway.option('budgets.new_key', text)).rejects.toMatchObject({ code: 'option_invalid' });
});

test('a default budget finer than the site’s unit prevents new keys and users', async () => {
  const owner = await member('mira');
  await gateway.option('budgets.new_key', 'day 0.5usd');
  await gateway.option('budgets.new_user', 'day 0.5usd');
  await gateway.option('QuotaPerUnit', '1');
  await expect(gateway.services.tokens.create(owner, { name: 'k' })).rejects.toMatchObject({ code: 'params_invalid' });
  expect((await gateway.services.tokens.list(owner, 0, 10)).total).toBe(0);
  await expect(member('late')).rejects.toMatchObject({ code: 'params_invalid' });
  expect(await gateway.services.users.count()).toBe(2);
});

test('a failed write of first budgets makes neither key nor user, and the name stays free', async () => {
  const owner = await member('mira');
  await gateway.option('budgets.new_key', 'month 20usd\nday 1000');
  await gateway.option('budgets.new_user', 'month 20usd\nday 1000');
  const raw = gateway.raw();
  raw.exec(
    "CREATE TRIGGER full BEFORE INSERT ON budgets WHEN NEW.period = 'day' BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
  );
  const accounts = () => raw.prepare('SELECT count(*) AS n FROM accounts').get();
  const before = accounts();
  const { tokens, users, budgets: all } = gateway.services;
  await expect(tokens.create(owner, { name: 'k' })).rejects.toThrow('the disk is full');
  await expect(member('late')).rejects.toThrow('the disk is full');
  expect((await tokens.list(owner, 0, 10)).total).toBe(0);
  expect(await users.findByLogin('late')).toBeUndefined();
  expect(accounts()).toEqual(before);
  raw.exec('DROP TRIGGER full');
  const late = await member('late');
  expect((await all.list('user', String(late))).map(({ window }) => window)).toEqual(['month', 'day']);
});

test('a site with all the budgets that it can have makes no key that needs one', async () => {
  const owner = await member('mira');
  await gateway.option('budgets.new_key', 'month 20usd');
  const raw = gateway.raw();
  raw.exec(
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO budgets (holder, subject, period, unit, amount, created_at, updated_at) SELECT 'group', 'g' || i, 'day', 'money', 1, 1, 1 FROM n",
  );
  await expect(gateway.services.tokens.create(owner, { name: 'k' })).rejects.toMatchObject({ code: 'budget_many' });
  expect((await gateway.services.tokens.list(owner, 0, 10)).total).toBe(0);
});
