/** What a user ever paid in: top-ups count until they are given back, and nothing that was given. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../db/migrate.ts';
import { type LedgerCommand, orderRefundRef } from '../../server/billing/ledger/commands.ts';
import { openOld } from '../support/old-schema.ts';
import { type LedgerState, openSelectedLedger } from './open-ledger.ts';
import { addUsers, deduct, grant, redeem, refund, reward, settle, topUp, transfer } from './support.ts';

let state: LedgerState;

beforeEach(async () => {
  state = await openSelectedLedger();
  await state.addUsers(1, 2);
});
afterEach(() => state.close());

const paidIn = async () =>
  (await state.rows<{ paid_in: number }>('SELECT paid_in FROM accounts WHERE id IN (1, 2) ORDER BY id')).map(
    (row) => row.paid_in,
  );
const apply = async (...commands: readonly LedgerCommand[]) => state.apply(...commands);

test('gifts, codes, invitations and refunds are no payments', async () => {
  await state.addCode(1, 20);
  const { results } = await apply(
    grant('g', 1, 1000),
    redeem(1, 1, 20),
    reward(2, 1, 15),
    transfer('n', 1, 15),
    settle('r', 1, 40),
    refund('r', 1, 40),
  );
  expect(results.map(({ status }) => status)).toEqual(Array(6).fill('done'));
  expect(await paidIn()).toEqual([0, 0]);
});

test('top-ups add up for the user who paid, once each, and stay when the money is gone', async () => {
  for (const [trade, quota] of [
    ['a', 300],
    ['b', 50],
    ['c', 7],
  ] as const)
    await state.addOrder(trade, 1, quota);
  const first = await apply(topUp('a', 1, 300), settle('r', 1, 120), topUp('b', 1, 50));
  expect(first.events).toMatchObject([
    { userId: 1, delta: 300, paidIn: 300 },
    { userId: 1, delta: 50, paidIn: 350 },
  ]);
  const second = await apply(topUp('a', 1, 300), topUp('c', 1, 7), deduct('d', 1, 237), grant('g', 1, 5));
  expect(second.results.map(({ status }) => status)).toEqual(['duplicate', 'done', 'done', 'done']);
  expect(second.events.map((event) => (event.kind === 'balance' ? event.paidIn : null))).toEqual([
    357,
    undefined,
    undefined,
  ]);
  expect(await paidIn()).toEqual([357, 0]);
  expect(await state.violations()).toEqual([]);
});

test('a top-up that pays overrun back counts whole', async () => {
  await state.addOrder('a', 1, 300);
  const { events } = await apply(settle('r', 1, 100), topUp('a', 1, 300));
  expect(events.at(-1)).toMatchObject({ delta: 200, overrun: -100, paidIn: 300 });
  expect(await paidIn()).toEqual([300, 0]);
});

test('a refunded part of an order no longer counts as paid in, of that order alone', async () => {
  await state.addOrder('a', 1, 300);
  await state.addOrder('b', 1, 50);
  const order = { tradeNo: 'a', refunded: 365, before: 0, invoice: null };
  const back = { ...deduct(orderRefundRef('a', 365), 1, 150), order };
  const { results, events } = await apply(topUp('a', 1, 300), topUp('b', 1, 50), back, back);
  expect(results.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'duplicate']);
  expect(events.at(-1)).toMatchObject({ delta: -150, paidIn: 200 });
  expect(await paidIn()).toEqual([200, 0]);
  expect(await state.violations()).toEqual([]);
  await state.rows('UPDATE accounts SET paid_in = 201 WHERE id = 1 RETURNING id');
  expect(await state.violations()).toMatchObject([{ id: 'I8', violations: 1, examples: ['paid in by 1: 201 > 200'] }]);
});

test('more paid in than was posted is a violation', async () => {
  await state.addOrder('a', 1, 300);
  await apply(topUp('a', 1, 300));
  await state.rows('UPDATE accounts SET paid_in = 301 WHERE id = 1 RETURNING id');
  expect(await state.violations()).toMatchObject([{ id: 'I8', violations: 1, examples: ['paid in by 1: 301 > 300'] }]);
});

test('the upgrade counts what was paid in before it', async () => {
  const old = openOld(':memory:', '0011-sign-ins');
  addUsers(old.raw, 1, 2, 3);
  old.raw.exec(`INSERT INTO postings (ref, debit, credit, amount, kind, at) VALUES
    ('topup:a', -1, 1, 30, 'topup', 5), ('topup:b', -1, 1, 12, 'topup', 5), ('topup:c', -1, 2, 7, 'topup', 5),
    ('redeem:1', -1, 2, 100, 'redeem', 5), ('g', -1, 3, 100, 'grant', 5)`);
  await migrate(old);
  expect(old.raw.prepare('SELECT id, paid_in FROM accounts WHERE id > 0 OR paid_in <> 0 ORDER BY id').all()).toEqual([
    { id: 1, paid_in: 42 },
    { id: 2, paid_in: 7 },
    { id: 3, paid_in: 0 },
  ]);
  await old.close();
});
