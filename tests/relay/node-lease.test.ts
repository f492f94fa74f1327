/** What a machine has leased is spent under one number, for as long as it is said to live: afterwards nothing of it is. */
import { beforeEach, expect, test } from 'vitest';
import { HolderSlot } from '../../server/billing/balances/budgets.ts';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { createLeasedBalances, type Leased } from '../../server/billing/leases/leased-balance.ts';
import { createNodeLease, type OwnNodeLease } from '../../server/billing/leases/node-lease.ts';
import type { BudgetSnapshot } from '../../server/contract/budgets.ts';
import type { TokenSnapshot, UserSnapshot } from '../../server/contract/snapshot.ts';
import type { Admission } from '../../server/relay/admission/limits.ts';
import type { Plan } from '../../server/relay/admission/plan.ts';
import { Reservation, type ReservationCore } from '../../server/relay/admission/reservation.ts';
import type { ParsedRequest, Principal } from '../../server/relay/intake/parsed-request.ts';

let clock: number;
let nodeLease: OwnNodeLease;
let balances: Balances;
let leased: Leased;
const account = { kind: 'account', userId: 1, id: 1 } as const;
const limit = { kind: 'token', userId: 1, id: 7 } as const;
const owners = new Map([[7, 1]]);

const begin = (epoch: number) => {
  nodeLease.ended();
  leased.drop(owners);
  nodeLease.start(epoch);
  nodeLease.heartbeatSent()();
};

beforeEach(() => {
  clock = 1000;
  const memory = createMemory();
  nodeLease = createNodeLease(memory, { monoNow: () => clock, wall: () => 1_000_000 + clock });
  const money = createMoney(memory, undefined, nodeLease);
  balances = new Balances(money);
  leased = createLeasedBalances(money);
  balances.money.accounts.observeUser({ id: 1, balance: 5000, used: 0, balanceVersion: 1, overrun: 0 } as UserSnapshot);
  const periods = { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } };
  balances.money.accounts.observeToken({
    id: 7,
    userId: 1,
    unlimited: false,
    quotaLimit: 900,
    used: 40,
    limits: null,
    periods,
  } as unknown as TokenSnapshot);
  begin(1);
  leased.addLease(account, 100);
  leased.addLease(limit, 100);
});

test('the leased amount is the bound of holds, of the balance and of the limit', () => {
  expect([balances.account(1, 0).available(), balances.account(1, 7).available()]).toEqual([100, 100]);
  expect(balances.account(1, 7).reserve(60).ok).toBe(true);
  expect(balances.account(1, 7).reserve(60).ok).toBe(false);
});

test('the possible cost of open requests stays here until they end, whatever they hold of it', () => {
  expect(balances.account(1, 7).reserve(10, { max: 70 }).ok).toBe(true);
  expect([leased.idle(account), leased.idle(limit)]).toEqual([30, 30]);
  expect([leased.reclaim(account, 90), leased.reclaim(limit, 90)]).toEqual([30, 30]);
  balances.account(1, 7).settle({ reserved: 10, charged: 70, max: 70, epoch: 1 });
  expect([leased.idle(account), leased.idle(limit), balances.account(1, 0).available()]).toEqual([0, 0, 0]);
});

test('exactness 7: what moves elsewhere is in the books, not in reach', () => {
  const token = { id: 7, used: -30 };
  balances.money.accounts.credit({ kind: 'balance', userId: 1, delta: 5000, version: 2, token });
  expect([leased.idle(account), leased.idle(limit)]).toEqual([100, 100]);
});

test('exactness 14: when no sign of life was confirmed for too long, nothing is let in and nothing grows', () => {
  expect(balances.account(1, 7).reserve(10).ok).toBe(true);
  clock += 12_000;
  expect([
    balances.account(1, 7).available(),
    balances.account(1, 7).availableWith({ most: 400, nodes: 1 }, false),
  ]).toEqual([0, 0]);
  expect([balances.account(1, 7).reserve(10).ok, balances.account(1, 7).reserve(10, { epoch: 1 }).ok]).toEqual([
    false,
    false,
  ]);
  // The house pays: no lease is touched. A key's limit is one.
  expect([
    balances.account(1, 0).reserve(10, { selfUse: true }).ok,
    balances.account(1, 7).reserve(10, { selfUse: true }).ok,
  ]).toEqual([true, false]);
  nodeLease.heartbeatSent()();
  expect(balances.account(1, 7).reserve(10, { epoch: 1 }).ok).toBe(true);
});

test('exactness 14: the life of leases runs from the sending of the last sign, by the clock that ran further', () => {
  let [monotonic, wall] = [1000, 1_000_000];
  const life = createNodeLease(createMemory(), { monoNow: () => monotonic, wall: () => wall });
  life.start(1);
  expect(life.isValid()).toBe(false);
  const confirmed = life.heartbeatSent();
  monotonic += 11_000;
  wall += 11_000;
  confirmed();
  expect(life.isValid()).toBe(true);
  monotonic += 1000;
  expect(life.isValid()).toBe(false);
  life.heartbeatSent()();
  expect(life.isValid()).toBe(true);
  // The machine slept: only the wall clock went on. Or it was set back.
  wall += 12_000;
  expect(life.isValid()).toBe(false);
  wall -= 24_000;
  expect(life.isValid()).toBe(false);
  // An answer to an older sign says nothing new.
  const old = life.heartbeatSent();
  monotonic += 5000;
  life.heartbeatSent()();
  old();
  monotonic += 8000;
  expect(life.isValid()).toBe(true);
});

test('exactness 14: leases last for as long as their number says, less three seconds, in every thread that shares them', () => {
  let at = 1000;
  const memory = createMemory();
  const clocks = { monoNow: () => at, wall: () => at };
  const own = createNodeLease(memory, clocks);
  const relay = createNodeLease(memory, clocks);
  own.start(1, 60);
  own.heartbeatSent()();
  at += 56_999;
  expect([own.isValid(), relay.isValid(), relay.remainingMs()]).toEqual([true, true, 1]);
  at += 1;
  expect([own.isValid(), relay.isValid(), relay.remainingMs()]).toEqual([false, false, 0]);
  at += 1;
  expect(relay.remainingMs()).toBe(0);
  own.start(2, 10);
  own.heartbeatSent()();
  at += 7000;
  expect(relay.isValid()).toBe(false);
});

test('a request of an earlier number ends without touching what is leased under the next', () => {
  expect(balances.account(1, 7).reserve(60).ok).toBe(true);
  begin(2);
  expect([balances.account(1, 0).available(), balances.account(1, 7).available()]).toEqual([0, 0]);
  leased.addLease(account, 80);
  leased.addLease(limit, 80);
  expect(balances.account(1, 7).reserve(5, { epoch: 1 }).ok).toBe(false);
  balances.account(1, 7).settle({ reserved: 60, charged: 50, epoch: 1 });
  expect([balances.account(1, 0).available(), balances.account(1, 7).available()]).toEqual([80, 80]);
  expect(balances.account(1, 7).limits().used).toBe(90);
  // One of its own does.
  expect(balances.account(1, 7).reserve(30, { epoch: 2 }).ok).toBe(true);
  balances.account(1, 7).settle({ reserved: 30, charged: 20, epoch: 2 });
  expect([leased.idle(account), leased.idle(limit)]).toEqual([60, 60]);
});

test('a key’s spending before it was seen here is no part of its lease', () => {
  const periods = { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } };
  const seen = { id: 8, userId: 1, unlimited: false, quotaLimit: 900, used: 40, limits: null, periods };
  balances.money.accounts.observeToken(seen as unknown as TokenSnapshot);
  leased.addLease({ ...limit, id: 8 }, 70);
  expect([balances.account(1, 8).available(), balances.account(1, 8).limits()]).toEqual([70, { limit: 110, used: 40 }]);
});

test('what a request of an earlier number held of an end user’s budget, or of one that no lease bounds, is held no more', () => {
  const { accounts } = balances.money;
  const rest = { unit: 'requests', zone: '', raise: 0, raiseUntil: 0, use: { at: 0, used: 0 } } as const;
  const budgets: BudgetSnapshot[] = [
    { ...rest, id: 1, holder: 'end_user', subject: '7', window: 'total', amount: 2 },
    { ...rest, id: 2, holder: 'user', subject: '1', window: 'request', unit: 'tokens', amount: 1000 },
  ];
  accounts.observeBudgets(budgets);
  balances.budgets.set(budgets);
  const holders = balances.budgets.of({ tokenId: 7, userId: 1, userGroup: '', endUser: 'ann' });
  const slots = holders?.map(({ slot }) => slot) ?? [];
  const heldOf = (slot: number) => balances.money.memory.get(slot + HolderSlot.held + 1);
  const held = { money: 0, requests: 1, tokens: 0 };
  const own = balances.account(1, 7);
  expect(own.reserve(10, { holders, requests: 1, epoch: 1 }).ok).toBe(true);
  expect(slots.map(heldOf)).toEqual([1, 1]);
  begin(2);
  const spent = { slots, held, holders, requests: 1, tokens: 3, parts: [] };
  own.settle({ reserved: 10, charged: 5, max: 10, epoch: 1, budgets: spent });
  expect(slots.map(heldOf)).toEqual([0, 0]);
  leased.addLease(account, 100);
  leased.addLease(limit, 100);
  expect(own.reserve(10, { holders, requests: 1, epoch: 2 }).ok).toBe(true);
  own.settle({ reserved: 10, charged: 5, max: 10, epoch: 2, budgets: { ...spent, parts: [] } });
  expect(slots.map(heldOf)).toEqual([0, 0]);
});

test('a request of an earlier number holds no tokens for another target', async () => {
  const { accounts } = balances.money;
  const budgets: BudgetSnapshot[] = [
    {
      ...{ id: 1, holder: 'user', subject: '1', window: 'request', unit: 'tokens', amount: 1000 },
      ...{ zone: '', raise: 0, raiseUntil: 0, use: { at: 0, used: 0 } },
    },
  ];
  accounts.observeBudgets(budgets);
  balances.budgets.set(budgets);
  const [holder] = balances.budgets.of({ tokenId: 7, userId: 1, userGroup: '' }) ?? [];
  const heldTokens = () => balances.money.memory.get((holder?.slot ?? 0) + HolderSlot.held + 2);
  const planOf = (maxTokens: number) =>
    ({ reserveAmount: 10, max: 10, promptTokens: 5, selfUse: false, estimate: { promptTokens: 5, maxTokens } }) as Plan;
  const request = {
    parsed: { requestId: 'r', model: 'm', stream: false } as ParsedRequest,
    principal: { user: { id: 1, group: '' }, token: { id: 7, limits: null }, group: '' } as unknown as Principal,
  };
  const admission = {
    open: { row: 0, read: () => undefined },
    reserve: () => undefined,
    reserveAtSite: () => null,
  } as unknown as Admission;
  const core = { balances, leaseClient: null } as unknown as ReservationCore;
  const reservation = new Reservation(core, { ...request, plan: planOf(20), admission, free: false, owner: null });
  reservation.take();
  expect(heldTokens()).toBe(25);
  expect(await reservation.retarget({ ...request, plan: planOf(30) })).toBeNull();
  expect(heldTokens()).toBe(35);
  begin(2);
  expect(await reservation.retarget({ ...request, plan: planOf(40) })).toBe('uncovered');
  expect(heldTokens()).toBe(0);
});

test('between two numbers nothing is let in, whatever lies there', () => {
  nodeLease.ended();
  expect(balances.account(1, 7).reserve(1).ok).toBe(false);
  nodeLease.start(2);
  expect(balances.account(1, 7).reserve(1).ok).toBe(false);
});
