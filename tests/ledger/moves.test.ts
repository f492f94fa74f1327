import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LedgerCommand, MoneyEvent } from '../../server/billing/ledger/commands.ts';
import type { DirectLedger } from '../../server/threads/ledger/direct.ts';
import { type LedgerState, openSelectedLedger } from './open-ledger.ts';
import { grant, redeem, refund, reward, settle, topUp, transfer } from './support.ts';

let state: LedgerState;
let ledger: DirectLedger;
let events: MoneyEvent[];

beforeEach(async () => {
  state = await openSelectedLedger();
  await state.addUsers(1, 2);
  await state.addCode(1, 500);
  await state.addOrder('T1', 1, 700);
  ({ ledger } = state);
  events = [];
  ledger.onBalance((event) => events.push(event));
});
afterEach(async () => {
  await ledger.drain();
  expect(await state.violations()).toEqual([]);
  await state.close();
});

const balance = (id: number) => state.balance(id);
const row = async (sql: string) => (await state.rows(sql))[0];
const statuses = async (commands: readonly LedgerCommand[]) =>
  (await Promise.all(commands.map((command) => ledger.execute(command)))).map((result) => result.status);
const counted = (words: readonly string[]) => words.filter((word) => word === 'done').length;

test('500 parallel redemptions of one code: one succeeds', async () => {
  const answers = await statuses(Array.from({ length: 500 }, (_, n) => redeem(1, 1 + (n % 2), 500)));
  expect(counted(answers)).toBe(1);
  expect((await balance(1)) + (await balance(2))).toBe(500);
  expect(await row('SELECT status, used_user_id FROM redemptions')).toMatchObject({ status: 3, used_user_id: 1 });
  expect(events).toHaveLength(1);
});

test('500 parallel transfers of what was earned: one succeeds', async () => {
  await ledger.execute(reward(2, 1, 900));
  const answers = await statuses(Array.from({ length: 500 }, (_, n) => transfer(String(n), 1, 900)));
  expect(counted(answers)).toBe(1);
  expect(await balance(1)).toBe(900);
  expect(await row('SELECT aff_quota, aff_history_quota FROM users WHERE id = 1')).toEqual({
    aff_quota: 0,
    aff_history_quota: 900,
  });
});

test('an order is credited once, however often it is reported paid', async () => {
  await state.rows("INSERT INTO callbacks (id, source, event_id, received_at, body) VALUES (7, 'epay', 'e', 1, '')");
  const answers = await statuses(Array.from({ length: 500 }, () => topUp('T1', 1, 700, 7)));
  expect(counted(answers)).toBe(1);
  expect(await balance(1)).toBe(700);
  expect(await row('SELECT status, paid_at FROM top_ups')).toEqual({ status: 'success', paid_at: 10_000 });
  expect(await row('SELECT outcome FROM callbacks')).toEqual({ outcome: 'credited' });
});

test('an invitation is rewarded once; one without a reward is only counted', async () => {
  await state.rows('UPDATE users SET inviter_id = 1 WHERE id = 2');
  expect(await statuses([reward(2, 1, 50), reward(2, 1, 50)])).toEqual(['done', 'duplicate']);
  expect(await row('SELECT aff_count, aff_quota FROM users WHERE id = 1')).toEqual({ aff_count: 1, aff_quota: 50 });
  await state.rows('UPDATE users SET inviter_id = 2 WHERE id = 1');
  await ledger.execute(reward(1, 2, 0));
  expect(await row('SELECT aff_count, aff_quota FROM users WHERE id = 2')).toEqual({ aff_count: 1, aff_quota: 0 });
});

test('a refund gives back the charge and takes it out of every counter', async () => {
  await ledger.execute(grant('g', 1, 1000));
  await ledger.execute(settle('r', 1, 300));
  expect(await statuses([refund('r', 1, 300), refund('r', 1, 300)])).toEqual(['done', 'duplicate']);
  expect(await balance(1)).toBe(1000);
  expect(await row('SELECT used_quota, day_used FROM tokens WHERE id = 1')).toEqual({ used_quota: 0, day_used: 0 });
  expect(await row('SELECT count, quota FROM usage_hours')).toEqual({ count: 1, quota: 0 });
  expect(events.at(-1)).toMatchObject({ userId: 1, delta: 300, token: { id: 1, used: -300 } });
});

test('one commit of many settlements, some of them written before: each is written once', async () => {
  await ledger.execute(grant('g', 1, 100_000));
  await state.apply(settle('r7', 1, 7), settle('free', 1, 0));
  const commands = Array.from({ length: 150 }, (_, n) => settle(`r${n}`, 1 + (n % 2), n));
  const { results } = await state.apply(
    ...commands,
    settle('r7', 1, 7),
    settle('r8', 2, 9),
    settle('free', 1, 0),
    refund('r10', 1, 10),
    grant('late', 2, 5),
  );
  const words = results.map(({ status }) => status);
  expect(words.flatMap((word, n) => (word === 'done' ? [] : [[n, word]]))).toEqual([
    [7, 'conflict'],
    [150, 'duplicate'],
    [151, 'conflict'],
    [152, 'duplicate'],
  ]);
  expect(await row("SELECT count(*) AS n FROM postings WHERE kind = 'settle'")).toEqual({ n: 149 });
  expect(await row('SELECT count(*) AS n FROM logs')).toEqual({ n: 151 });
});

test('a settlement is paid back in the commit that wrote it', async () => {
  await ledger.execute(grant('g', 1, 100));
  const { results } = await state.apply(settle('one', 1, 30), refund('one', 1, 30), settle('two', 1, 20));
  expect(results.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
  expect(await balance(1)).toBe(80);
});

test('a token remembers what it used in the current day and month', async () => {
  const at = (iso: string) => Date.parse(iso) / 1000;
  await ledger.execute(grant('g', 1, 1000));
  for (const [ref, iso] of [
    ['a', '2026-01-31T10:00:00Z'],
    ['b', '2026-01-31T23:59:59Z'],
    ['c', '2026-02-01T00:00:00Z'],
    ['late', '2026-01-31T12:00:00Z'],
    ['d', '2026-02-02T00:00:00Z'],
  ] as const)
    await ledger.execute({ ...settle(ref, 1, 10), at: at(iso) });
  expect(await row('SELECT day_at, day_used, month_at, month_used FROM tokens WHERE id = 1')).toEqual({
    day_at: at('2026-02-02T00:00:00Z'),
    day_used: 10,
    month_at: at('2026-02-01T00:00:00Z'),
    month_used: 20,
  });
});

test.each<[string, LedgerCommand, string]>([
  ['a code that does not exist', redeem(9, 1, 500), 'closed'],
  ['another worth', redeem(1, 1, 501), 'mismatch'],
  ['a code under another ref', { ...redeem(1, 1, 500), ref: 'redeem:2' }, 'invalid'],
  ['an order that does not exist', topUp('T9', 1, 700), 'closed'],
  ['an order of another user', topUp('T1', 2, 700), 'mismatch'],
  ['another amount', topUp('T1', 1, 701), 'mismatch'],
  ['more than was earned', transfer('n', 1, 1), 'insufficient'],
  ['a refund of nothing', refund('r', 1, 1), 'closed'],
  ['a user that does not exist', redeem(1, 99, 500), 'unknown_account'],
  ['a negative reward', reward(2, 1, -1), 'invalid'],
])('refused: %s', async (_name, command, reason) => {
  expect(await ledger.execute(command)).toMatchObject({ status: 'refused', reason });
  expect([await balance(1), await balance(2)]).toEqual([0, 0]);
});

test('a disabled or deleted code, and more than was settled, are refused', async () => {
  await state.addCode(2, 500, 2);
  await state.addCode(3, 500);
  await state.rows('UPDATE redemptions SET deleted_at = 1 WHERE id = 3');
  await ledger.execute(grant('g', 1, 100));
  await ledger.execute(settle('r', 1, 30));
  expect(await statuses([redeem(2, 1, 500), redeem(3, 1, 500), refund('r', 1, 31), refund('r', 2, 30)])).toEqual(
    Array(4).fill('refused'),
  );
});
