import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Line, openLine } from '../../db/postgres/line.ts';
import { clearLeases, expireNodes, orphans } from '../../db/postgres/nodes.ts';
import { Account, type LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { endFor } from '../../server/billing/ledger/recovery.ts';
import { expectEqualSums, variedSettlements } from '../ledger/sum-cases.ts';
import { deduct, grant, log, redeem, refund, reserve, reward, settle, topUp, transfer } from '../ledger/support.ts';
import { openSite, type Site, type TestNode } from './site.ts';

let site: Site;
let node: TestNode;
let line: Line;

beforeEach(async () => {
  site = await openSite();
  await site.addUsers(1, 2);
  node = site.node();
  line = await openLine({ engine: 'postgres', url: site.url });
});
afterEach(async () => {
  expect(await site.violations()).toEqual([]);
  line.close();
  await site.drop();
});

const apply = async ({ store }: TestNode, ...commands: readonly LedgerCommand[]) =>
  (await store.apply(commands)).results.map(({ status }) => status);
const lease = async ({ store }: TestNode, account: number, amount: number) => {
  if (store.epoch() === 0) await store.probe();
  const moves = [{ type: 'acquire', account, token: 0, need: amount, tokenNeed: 0, use: 0, nodes: 1 }] as const;
  return (await store.move(moves, store.epoch())).grants[0]?.granted;
};
const standing = async (id: number) =>
  (
    await site.rows<{ balance: number; leased: number; overrun: number }>(
      'SELECT balance, leased, overrun FROM accounts WHERE id = $1',
      id,
    )
  )[0];
const leaseOf = async ({ store }: TestNode) =>
  (
    await site.rows<{ amount: number }>(
      "SELECT amount FROM leases WHERE kind = 'account' AND epoch = $1",
      store.epoch(),
    )
  )[0]?.amount;
const recoverOrphans = async (by: TestNode) =>
  by.store.apply((await orphans(line, -3600)).map((one) => ({ ...endFor(one), provisional: true })));

test('one command of each kind moves what it moves on SQLite', async () => {
  await site.addCode(1, 500);
  await site.addOrder('T', 1, 700);
  const commands = [
    grant('g', 1, 1000),
    settle('r', 1, 300),
    deduct('d', 1, 100),
    redeem(1, 1, 500),
    topUp('T', 1, 700),
    reward(2, 1, 50),
    transfer('n', 1, 20),
    refund('r', 1, 10),
    reserve('h', 1, 5),
    { type: 'void', ref: 'h', log: null } as const,
    { type: 'note', ref: 'x', log: { ...log('x', 1, 0), type: 5 } } as const,
  ];
  expect(await apply(node, ...commands)).toEqual(commands.map(() => 'done'));
  expect(await site.balance(1)).toBe(1000 - 300 - 100 + 500 + 700 + 20 + 10);
  expect(await site.balance(Account.revenue)).toBe(290);
  expect(await site.rows('SELECT aff_quota, aff_history_quota FROM users WHERE id = 1')).toEqual([
    { aff_quota: 30, aff_history_quota: 50 },
  ]);
  expect(await site.rows('SELECT count, quota FROM usage_hours')).toEqual([{ count: 1, quota: 290 }]);
  expect(await site.rows('SELECT type, quota FROM logs ORDER BY type')).toEqual([
    { type: 2, quota: 300 },
    { type: 5, quota: 0 },
  ]);
  expect(await apply(node, ...commands.filter(({ type }) => type !== 'hold'))).toEqual(
    commands.filter(({ type }) => type !== 'hold').map(() => 'duplicate'),
  );
});

test('a refund goes back to the budgets of all labels of its key, and of no other label', async () => {
  await site.rows("UPDATE tokens SET labels = CASE id WHEN 1 THEN 'red,blue' ELSE 'green' END");
  for (const [at, label] of ['red', 'blue', 'green', 'blu'].entries())
    await site.rows(
      "INSERT INTO budgets (id, holder, subject, period, unit, amount, created_at, updated_at) VALUES ($1, 'label', $2, 'total', 'money', 1000, 1, 1)",
      11 + at,
      label,
    );
  await apply(node, grant('g1', 1, 100), grant('g2', 2, 100));
  await apply(node, { ...settle('a', 1, 30), budgets: [11, 0, 0, 12, 0, 0] });
  await apply(node, { ...settle('b', 2, 30), budgets: [13, 0, 0, 14, 0, 0] });
  await apply(node, refund('a', 1, 20));
  expect(await site.rows('SELECT budget_id AS id, used FROM budget_use ORDER BY budget_id')).toEqual([
    { id: 11, used: 10 },
    { id: 12, used: 10 },
    { id: 13, used: 30 },
    { id: 14, used: 30 },
  ]);
});

test('a refund names the end user, where the key has budgets in money for each of them', async () => {
  await site.rows(
    "INSERT INTO budgets (id, holder, subject, period, unit, amount, created_at, updated_at) VALUES (11, 'end_user', '1', 'day', 'money', 1000, 1, 1), (12, 'end_user', '2', 'day', 'requests', 1000, 1, 1)",
  );
  await apply(node, grant('g1', 1, 100), grant('g2', 2, 100));
  const named = (ref: string, user: number) => {
    const command = settle(ref, user, 30);
    return { ...command, log: command.log && { ...command.log, names: { end_user: 'ann', session: 's' } } };
  };
  await apply(node, named('a', 1), settle('b', 1, 30), named('c', 2));
  const given = await node.store.apply([refund('a', 1, 20), refund('b', 1, 5), refund('c', 2, 5)]);
  expect(given.events.filter(({ kind }) => kind === 'end_user')).toEqual([
    { kind: 'end_user', tokenId: 1, name: 'ann', at: 7200, delta: -20 },
    { kind: 'end_user', tokenId: 1, name: '', at: 7200, delta: -5 },
  ]);
});

test('two nodes that get the same order, code and request at once: each counts once', async () => {
  const other = site.node({ name: 'other' });
  await site.addOrder('T', 1, 700);
  await site.addCode(1, 500);
  await apply(node, grant('g', 1, 1000), grant('g2', 2, 1000));
  for (let round = 0; round < 15; round++) {
    const commands = [topUp('T', 1, 700), redeem(1, 1, 500), settle(`r${round}`, 1, 3), settle(`q${round}`, 2, 4)];
    const answers = await Promise.all([
      apply(node, ...commands),
      apply(other, ...commands.toReversed()).then((list) => list.toReversed()),
    ]);
    for (const index of [2, 3]) expect(answers.map((list) => list[index]).sort()).toEqual(['done', 'duplicate']);
  }
  expect(await site.balance(1)).toBe(1000 + 700 + 500 - 45);
  expect(await site.balance(2)).toBe(1000 - 60);
});

test('a name with NUL is written without it, and delays no batch', async () => {
  const odd = { ...settle('r', 1, 0), model: 'a\0b"\\{},', username: '\ud800' };
  expect(await apply(node, { ...odd, log: { ...log('r', 1, 0), model: 'a\0b"\\{},' } })).toEqual(['done']);
  expect(await site.rows('SELECT model_name FROM logs')).toEqual([{ model_name: 'a\ufffdb"\\{},' }]);
});

test('a node whose clock is ahead begins no day and no month for the others', async () => {
  const [clock] = await site.rows<{ at: number }>('SELECT extract(epoch FROM now())::bigint AS at');
  const at = clock?.at ?? 0;
  await apply(node, grant('g', 1, 100), { ...settle('ahead', 1, 10), at: at + 40 * 86_400 });
  await apply(node, { ...settle('right', 1, 5), at });
  expect(await site.rows('SELECT day_used, month_used FROM tokens WHERE id = 1')).toEqual([
    { day_used: 15, month_used: 15 },
  ]);
});

test('exactness 2: a settlement pays from its own lease, then from what is not leased, the rest from overrun', async () => {
  const other = site.node({ name: 'other' });
  await apply(node, grant('g', 1, 100));
  expect([await lease(node, 1, 40), await lease(other, 1, 50), await lease(other, 1, 20)]).toEqual([40, 50, 0]);
  expect(await apply(node, settle('r', 1, 80))).toEqual(['done']);
  expect(await standing(1)).toEqual({ balance: 50, leased: 50, overrun: 30 });
  expect([await leaseOf(node), await leaseOf(other)]).toEqual([0, 50]);
  expect(await site.rows("SELECT asked, paid FROM ends WHERE ref = 'r'")).toEqual([{ asked: 80, paid: 50 }]);
});

test('exactness 2: the same outbox shipped at three balances is the same settlement', async () => {
  const other = site.node({ name: 'other' });
  for (const [n, before] of [1000, 40, 0].entries()) {
    await site.addUsers(10 + n);
    if (before > 0) await apply(node, grant(`g${n}`, 10 + n, before));
    const ends = [settle(`a${n}`, 10 + n, 60), settle(`b${n}`, 10 + n, 7)];
    expect(await apply(node, ...ends)).toEqual(['done', 'done']);
    for (const credit of [0, 5, 500]) {
      if (credit > 0) await apply(node, grant(`c${n}-${credit}`, 10 + n, credit));
      expect(await apply(other, ...ends)).toEqual(['duplicate', 'duplicate']);
    }
    expect(await apply(other, settle(`a${n}`, 10 + n, 61))).toEqual(['conflict']);
  }
});

test.each([
  ['more', 90],
  ['less', 10],
  ['as much', 30],
  ['nothing', 0],
])(
  'exactness 3: a node that was settled for comes back and asks for %s: its word counts, once',
  async (_word, requested) => {
    const other = site.node({ name: 'other' });
    await apply(node, grant('g', 1, 100));
    expect(await lease(node, 1, 100)).toBe(100);
    await apply(node, { ...reserve('r', 1, 30), estimate: 60 });
    expect(await expireNodes(line, [node.store.epoch()])).toEqual([node.store.epoch()]);
    expect(await standing(1)).toMatchObject({ balance: 100, leased: 60 });
    await recoverOrphans(other);
    await clearLeases(line);
    expect(await standing(1)).toEqual({ balance: 70, leased: 0, overrun: 0 });
    // Fenced off: it goes by another number from now on.
    await expect(node.store.apply([settle('r', 1, requested)])).rejects.toThrow();
    expect(await apply(node, settle('r', 1, requested))).toEqual(['done']);
    expect(node.epochs).toHaveLength(2);
    expect(await site.balance(1)).toBe(100 - requested);
    expect(await apply(other, settle('r', 1, requested))).toEqual(['duplicate']);
    // A hold that comes late announces nothing.
    expect(await apply(node, reserve('r', 1, 30))).toEqual(['done']);
    expect(await site.rows('SELECT ref FROM holds')).toEqual([]);
    expect(await site.rows('SELECT quota FROM logs')).toEqual([{ quota: requested }]);
  },
);

test('exactness 3: an end without a charge is an end: a late hold is not brought back to life', async () => {
  await apply(node, grant('g', 1, 100), { type: 'void', ref: 'r', log: null }, settle('z', 1, 0));
  expect(await apply(node, reserve('r', 1, 30), reserve('z', 1, 30))).toEqual(['done', 'done']);
  expect(await site.rows('SELECT ref FROM holds')).toEqual([]);
  await expireNodes(line, [node.store.epoch()]);
  const other = site.node({ name: 'other' });
  await recoverOrphans(other);
  expect(await site.balance(1)).toBe(100);
});

test('what a thawed node had in flight is covered by what was set aside for it', async () => {
  const other = site.node({ name: 'other' });
  await apply(node, grant('g', 1, 100));
  await lease(node, 1, 100);
  await apply(node, { ...reserve('r', 1, 5), estimate: 60 });
  await expireNodes(line, [node.store.epoch()]);
  expect(await lease(other, 1, 41)).toBe(0);
  expect(await lease(other, 1, 40)).toBe(40);
  await node.store.apply([settle('r', 1, 60)]).catch(() => undefined);
  await apply(node, settle('r', 1, 60));
  expect(await standing(1)).toEqual({ balance: 40, leased: 40, overrun: 0 });
});

test('a deduction takes what is not leased', async () => {
  await apply(node, grant('g', 1, 100));
  await lease(node, 1, 70);
  expect(await apply(node, deduct('d', 1, 31), deduct('e', 1, 30))).toEqual(['refused', 'done']);
  expect(await standing(1)).toEqual({ balance: 70, leased: 70, overrun: 0 });
});

test.each(['before', 'after'] as const)(
  'exactness 1: a COMMIT whose answer is lost %s it was done is found out under the same number',
  async (fate) => {
    let cut = false;
    const shaky = site.node({ name: 'shaky', broken: (text) => (cut && text === 'COMMIT' ? fate : null) });
    await apply(shaky, grant('g', 1, 100));
    cut = true;
    const commands = [grant('h', 1, 5), settle('r', 1, 7)];
    await expect(shaky.store.apply(commands)).rejects.toSatisfy((error) => shaky.store.isUncertain(error));
    // Nothing is known yet, and another transaction is done in between.
    cut = false;
    expect(await lease(shaky, 1, 10)).toBe(10);
    expect(await apply(shaky, ...commands)).toEqual(['done', 'done']);
    expect(await site.balance(1)).toBe(98);
    expect(await standing(1)).toMatchObject({ leased: 3 + (fate === 'before' ? 0 : 7) });
  },
);

test('exactness 1: the outcome of a move is known until it was delivered, whatever else is lost meanwhile', async () => {
  let cut: (text: string) => 'before' | 'after' | null = () => null;
  const shaky = site.node({ name: 'shaky', broken: (text) => cut(text) });
  const { store } = shaky;
  await apply(shaky, grant('g', 1, 100));
  await lease(shaky, 1, 50);
  const losing = (nth: number) => {
    let commits = 0;
    cut = (text) => (text === 'COMMIT' && ++commits === nth ? 'after' : null);
  };
  const back = [{ type: 'give-back', kind: 'account', subject: 1, amount: 20 }] as const;
  losing(1);
  await expect(store.move(back, store.epoch())).rejects.toSatisfy((error) => store.isUncertain(error));
  // Finds out what came of it, and is lost itself.
  losing(2);
  const end = settle('r', 1, 5);
  await expect(store.apply([end])).rejects.toSatisfy((error) => store.isUncertain(error));
  cut = (text) => (text.includes('SET expires_at') ? 'before' : null);
  await expect(store.move(back, store.epoch())).rejects.toSatisfy((error) => store.isUncertain(error));
  cut = () => null;
  await store.move(back, store.epoch());
  expect(await apply(shaky, end)).toEqual(['done']);
  expect(await leaseOf(shaky)).toBe(25);
});

test('exactness 4: what a database forgot that it had confirmed is sent again under a new number', async () => {
  await apply(node, grant('g', 1, 100), grant('g2', 2, 100));
  const { seq } = (await site.rows<{ seq: number }>('SELECT seq FROM nodes'))[0] ?? { seq: 0 };
  await apply(node, settle('r', 1, 7));
  // An older copy comes to power: as if the last transaction had never been.
  const undo = [
    "DELETE FROM postings WHERE ref = 'r'",
    "DELETE FROM ends WHERE ref = 'r'",
    "DELETE FROM logs WHERE request_id = 'r'",
    'DELETE FROM usage_hour_parts',
    'DELETE FROM channel_parts',
    'UPDATE accounts SET balance = 100, used_quota = 0, request_count = 0 WHERE id = 1',
    'UPDATE tokens SET used_quota = 0',
    `DELETE FROM account_parts WHERE account_id = ${Account.revenue}`,
    `UPDATE nodes SET seq = ${seq}`,
    // Other files are tested on the same server.
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $$gateway ledger$$ AND datname = current_database()',
  ];
  for (const text of undo) await site.rows(text);
  line.close();
  line = await openLine({ engine: 'postgres', url: site.url });
  for (let n = 0; n < 5 && node.forgotten.length === 0; n++) await node.store.probe().catch(() => undefined);
  expect(node.forgotten.map(({ ref }) => ref)).toEqual(['r']);
  expect(node.epochs).toHaveLength(2);
  expect(await apply(node, ...node.forgotten)).toEqual(['done']);
  expect(await site.balance(1)).toBe(93);
});

test('a commit that cannot be kept for a failover does not happen, and does when the disk takes it again', async () => {
  let full = false;
  const narrow = site.node({ name: 'narrow', full: () => full });
  await apply(narrow, grant('g', 1, 100));
  full = true;
  await expect(apply(narrow, settle('r', 1, 7))).rejects.toThrow('the disk is full');
  // Signs of life go on: the others need not take it for gone.
  await narrow.store.probe();
  expect(await site.balance(1)).toBe(100);
  full = false;
  expect(await apply(narrow, settle('r', 1, 7))).toEqual(['done']);
  expect([await site.balance(1), narrow.batches.length, narrow.epochs.length]).toEqual([93, 2, 1]);
});

test('a rejected command is not kept', async () => {
  await apply(node, grant('g', 1, 100));
  const wrong = { ...settle('r', 1, 7), log: { ...log('r', 1, 7), type: 1.5 } };
  await expect(apply(node, wrong)).rejects.toThrow();
  expect(node.batches.flatMap(({ commands }) => commands.map(({ ref }) => ref))).toEqual(['g']);
});

test('exactness 4: a pooler that leads an open connection to an older copy is found out by the next transaction', async () => {
  await apply(node, grant('g', 1, 100));
  const [before] = await site.rows<{ seq: number }>('SELECT seq FROM nodes');
  // The copy has none of it, and no connection was closed.
  await apply(node, { type: 'note', ref: 'x', log: { ...log('x', 1, 0), type: 5 } });
  for (const text of ["DELETE FROM ends WHERE ref = 'note:x'", 'DELETE FROM logs']) await site.rows(text);
  await site.rows('UPDATE nodes SET seq = $1', before?.seq);
  await expect(node.store.probe()).rejects.toThrow('declared gone');
  await node.store.probe();
  expect(node.forgotten.map(({ ref }) => ref)).toEqual(['x']);
  expect(node.epochs).toHaveLength(2);
  expect(await apply(node, ...node.forgotten)).toEqual(['done']);
  expect(await site.rows('SELECT request_id FROM logs')).toEqual([{ request_id: 'x' }]);
});

test('exactness 14: what a connection finds out about an earlier commit is no new sign of life', async () => {
  let cut = false;
  let signs = 0;
  const sign = () => () => void signs++;
  const shaky = site.node({ name: 'shaky', sign, broken: (text) => (cut && text === 'COMMIT' ? 'after' : null) });
  await apply(shaky, grant('g', 1, 100));
  const commands = [settle('r', 1, 7)];
  cut = true;
  await expect(shaky.store.apply(commands)).rejects.toSatisfy((error) => shaky.store.isUncertain(error));
  cut = false;
  await shaky.store.probe();
  const before = signs;
  expect(await apply(shaky, ...commands)).toEqual(['done']);
  expect(signs).toBe(before);
});

test('exactness 14: a sign of life whose answer was lost does not stand for the next one', async () => {
  let cut = false;
  let signs = 0;
  const sign = () => () => void signs++;
  const shaky = site.node({ name: 'shaky', sign, broken: (text) => (cut && text === 'COMMIT' ? 'after' : null) });
  await shaky.store.probe();
  cut = true;
  await expect(shaky.store.probe()).rejects.toSatisfy((error) => shaky.store.isUncertain(error));
  cut = false;
  const commands = [grant('g', 1, 100)];
  expect(await apply(shaky, ...commands)).toEqual(['done']);
  const before = signs;
  await shaky.store.probe();
  expect(signs).toBe(before + 1);
});

test('the log is added up by hours and days, as on SQLite, and what a node says later takes the place of what was settled for it', async () => {
  const commands = variedSettlements(120, 11);
  for (let from = 0; from < commands.length; from += 40) await apply(node, ...commands.slice(from, from + 40));
  await apply(node, ...commands.slice(0, 10));
  const other = site.node();
  const names = { agent: 'agent-1', session: 'late' };
  const [found] = variedSettlements(1, 12);
  if (found?.log == null) throw new Error('it has a row');
  const row = { ...found.log, names };
  await apply(other, { ...found, amount: 7, log: { ...row, quota: 7, endReason: 'recovered' }, provisional: true });
  await apply(node, { ...found, amount: 9, log: { ...row, quota: 9, names: { ...names, session: 'own' } } });
  await expectEqualSums(site.database);
});
