/** What a machine has leased is spent under one number, for as long as it is said to live: afterwards nothing of it is. */
import { beforeEach, expect, test } from 'vitest';
import { type Balances, createBalances } from '../../server/billing/balances/balances.ts';
import { createMoney } from '../../server/billing/balances/money.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { createLeased, type Leased } from '../../server/billing/leases/leased.ts';
import { createTenure, type OwnTenure } from '../../server/billing/leases/node-lease.ts';
import type { TokenSnapshot, UserSnapshot } from '../../server/contract/snapshot.ts';

let clock: number;
let tenure: OwnTenure;
let balances: Balances;
let leased: Leased;
const account = { kind: 'account', userId: 1, id: 1 } as const;
const limit = { kind: 'token', userId: 1, id: 7 } as const;
const owners = new Map([[7, 1]]);

const begin = (epoch: number) => {
  tenure.ended();
  leased.drop(owners);
  tenure.begins(epoch);
  tenure.sent()();
};

beforeEach(() => {
  clock = 1000;
  const memory = createMemory();
  tenure = createTenure(memory, { steady: () => clock, wall: () => 1_000_000 + clock });
  const money = createMoney(memory, undefined, tenure);
  balances = createBalances(money);
  leased = createLeased(money);
  balances.seeUser({ id: 1, balance: 5000, used: 0, balanceVersion: 1, overrun: 0 } as UserSnapshot);
  const periods = { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } };
  balances.seeToken({
    id: 7,
    userId: 1,
    unlimited: false,
    quotaLimit: 900,
    used: 40,
    limits: null,
    periods,
  } as unknown as TokenSnapshot);
  begin(1);
  leased.lend(account, 100);
  leased.lend(limit, 100);
});

test('what is leased is what may be held, of the balance and of the limit', () => {
  expect([balances.available(1, 0), balances.available(1, 7)]).toEqual([100, 100]);
  expect(balances.hold(1, 7, 60).ok).toBe(true);
  expect(balances.hold(1, 7, 60).ok).toBe(false);
});

test('exactness 7: what moves elsewhere is in the books, not in reach', () => {
  const token = { id: 7, used: -30 };
  balances.credit({ kind: 'balance', userId: 1, delta: 5000, version: 2, token });
  expect([leased.idle(account), leased.idle(limit)]).toEqual([100, 100]);
});

test('exactness 14: when no sign of life was confirmed for too long, nothing is let in and nothing grows', () => {
  expect(balances.hold(1, 7, 10).ok).toBe(true);
  clock += 12_000;
  expect([balances.available(1, 7), balances.spare(1, 7, 4, false)]).toEqual([0, 0]);
  expect([balances.hold(1, 7, 10).ok, balances.hold(1, 7, 10, { epoch: 1 }).ok]).toEqual([false, false]);
  // The house pays: no lease is touched. A key's limit is one.
  expect([balances.hold(1, 0, 10, { house: true }).ok, balances.hold(1, 7, 10, { house: true }).ok]).toEqual([
    true,
    false,
  ]);
  tenure.sent()();
  expect(balances.hold(1, 7, 10, { epoch: 1 }).ok).toBe(true);
});

test('exactness 14: the life of leases runs from the sending of the last sign, by the clock that ran further', () => {
  let [monotonic, wall] = [1000, 1_000_000];
  const life = createTenure(createMemory(), { steady: () => monotonic, wall: () => wall });
  life.begins(1);
  expect(life.lasts()).toBe(false);
  const confirmed = life.sent();
  monotonic += 11_000;
  wall += 11_000;
  confirmed();
  expect(life.lasts()).toBe(true);
  monotonic += 1000;
  expect(life.lasts()).toBe(false);
  life.sent()();
  expect(life.lasts()).toBe(true);
  // The machine slept: only the wall clock went on. Or somebody set it back.
  wall += 12_000;
  expect(life.lasts()).toBe(false);
  wall -= 24_000;
  expect(life.lasts()).toBe(false);
  // An answer to an older sign says nothing new.
  const old = life.sent();
  monotonic += 5000;
  life.sent()();
  old();
  monotonic += 8000;
  expect(life.lasts()).toBe(true);
});

test('exactness 14: leases last for as long as their number says, less three seconds, in every thread that shares them', () => {
  let at = 1000;
  const memory = createMemory();
  const clocks = { steady: () => at, wall: () => at };
  const own = createTenure(memory, clocks);
  const relay = createTenure(memory, clocks);
  own.begins(1, 60);
  own.sent()();
  at += 56_999;
  expect([own.lasts(), relay.lasts()]).toEqual([true, true]);
  at += 1;
  expect([own.lasts(), relay.lasts()]).toEqual([false, false]);
  own.begins(2, 10);
  own.sent()();
  at += 7000;
  expect(relay.lasts()).toBe(false);
});

test('a request of an earlier number ends without touching what is leased under the next', () => {
  expect(balances.hold(1, 7, 60).ok).toBe(true);
  begin(2);
  expect([balances.available(1, 0), balances.available(1, 7)]).toEqual([0, 0]);
  leased.lend(account, 80);
  leased.lend(limit, 80);
  expect(balances.hold(1, 7, 5, { epoch: 1 }).ok).toBe(false);
  balances.settle(1, 7, { held: 60, charged: 50, epoch: 1 });
  expect([balances.available(1, 0), balances.available(1, 7)]).toEqual([80, 80]);
  expect(balances.standing(1, 7).used).toBe(90);
  // One of its own does.
  expect(balances.hold(1, 7, 30, { epoch: 2 }).ok).toBe(true);
  balances.settle(1, 7, { held: 30, charged: 20, epoch: 2 });
  expect([leased.idle(account), leased.idle(limit)]).toEqual([60, 60]);
});

test('what a key spent before it was seen here is no part of what was lent to it', () => {
  const periods = { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } };
  const seen = { id: 8, userId: 1, unlimited: false, quotaLimit: 900, used: 40, limits: null, periods };
  balances.seeToken(seen as unknown as TokenSnapshot);
  leased.lend({ ...limit, id: 8 }, 70);
  expect([balances.available(1, 8), balances.standing(1, 8)]).toEqual([70, { limit: 110, used: 40 }]);
});

test('between two numbers nothing is let in, whatever lies there', () => {
  tenure.ended();
  expect(balances.hold(1, 7, 1).ok).toBe(false);
  tenure.begins(2);
  expect(balances.hold(1, 7, 1).ok).toBe(false);
});
