/** What is leased ahead of requests: as much as is likely to be used until a lease ends, and nothing that another node waits for. */

import { beforeEach, expect, test } from 'vitest';
import type { LeaseMove } from '../../server/billing/ports.ts';
import { createLeaseDemand, type LeaseDemand } from '../../server/cluster/lease-demand.ts';
import { createLeaseManager } from '../../server/cluster/lease-manager.ts';
import { createLocalLeaseStore } from '../../server/cluster/lease-store-local.ts';
import { settle } from './support.ts';

const spanMs = 30_000;
let at: number;
let idle: number;
/** What the books have to give. */
let free: number;
/** All that there is, wherever it is leased. */
let left: number;
let requested: { readonly account: number; readonly token: number; readonly amount: number }[];
let back: string[];
let uses: LeaseDemand;

beforeEach(() => {
  [at, idle, free, left, requested, back] = [1000, 0, 1_000_000, 1_000_000, [], []];
  uses = createLeaseDemand({
    now: () => at,
    spanMs,
    idle: () => idle,
    prefetch(account, token, amount, done) {
      requested.push({ account, token, amount });
      done({ granted: Math.min(free, amount), left });
    },
    release: (kind, subject) => void back.push(`${kind} ${subject}`),
  });
});

const spent = (amount: number, tokenId = 0) => uses.settled([{ ...settle(`r${at}`, 7, amount), tokenId }]);
const lent = (small = false, ample = false) =>
  uses.onGranted({ kind: 'account', subject: 7, owner: 7, need: 100, small, ample });

/** 300 requests of 100: ten a second for the 30 seconds of a lease. */
const work = 30_000;

test('of an ample balance what a key at work needs while a lease lasts is leased from the first request on, of any other what was used', () => {
  expect(uses.floorOf(7, 100)).toBe(100 + work + work / 2);
  lent(false, true);
  idle = 100 + work;
  uses.cleanup();
  expect(requested).toEqual([]);
  idle--;
  uses.cleanup();
  expect(requested).toEqual([{ account: 7, token: 0, amount: 1 + work / 2 }]);
});

test('of a balance that is not ample only recent use is leased ahead', () => {
  lent(false, false);
  spent(40);
  uses.cleanup();
  expect(requested).toEqual([{ account: 7, token: 0, amount: 160 }]);
});

test('of an ample balance as much is leased as its use at the present rate needs, once there is a second of it', () => {
  lent(false, true);
  spent(4000);
  // What is spent at once is spent within a second.
  expect(uses.expectedOf(7)).toBe(120_000);
  at += 2000;
  expect(uses.expectedOf(7)).toBe(60_000);
  at += 8000;
  expect(uses.expectedOf(7)).toBe(12_000);
});

test('each key of an account that is at work counts, from its first settlement on', () => {
  lent(false, true);
  spent(1, 5);
  idle = 100 + work;
  expect(requested).toEqual([]);
  spent(1, 6);
  // Not only at the next turn.
  expect(requested).toEqual([{ account: 7, token: 0, amount: work + work }]);
  expect(uses.floorOf(7, 100)).toBe(100 + 3 * work);
  idle += 2 * work;
  spent(1, 6);
  expect(requested).toHaveLength(1);
  at += spanMs;
  expect(uses.floorOf(7, 100)).toBe(100 + 3 * work);
  at += spanMs;
  expect(uses.floorOf(7, 100)).toBe(100 + work + work / 2);
});

test('one request that is too large for the balance to be ample does not end the floor of the others; a balance that went down does', () => {
  lent(false, true);
  lent(false, false);
  uses.cleanup();
  expect(requested).toEqual([{ account: 7, token: 0, amount: 100 + work + work / 2 }]);
  left = 3200;
  uses.cleanup();
  left--;
  uses.cleanup();
  uses.cleanup();
  expect(requested.slice(1).map(({ amount }) => amount)).toEqual([100 + work + work / 2, 100 + work + work / 2, 100]);
});

test('no lease is requested twice at a time, and one without an answer is requested again', () => {
  const answers: ((grant: null) => void)[] = [];
  uses = createLeaseDemand({
    ...{ now: () => at, spanMs, idle: () => idle, release: () => undefined },
    prefetch: (_account, _token, _amount, done) => void answers.push(done),
  });
  lent(false, true);
  uses.cleanup();
  uses.cleanup();
  expect(answers).toHaveLength(1);
  answers[0]?.(null);
  uses.cleanup();
  expect(answers).toHaveLength(2);
});

test('no floor is leased of an account that another node waits for', () => {
  lent(false, true);
  uses.onRejected('account', 7);
  expect(uses.floorOf(7, 100)).toBe(0);
  at += spanMs;
  expect(uses.floorOf(7, 100)).toBe(100 + work + work / 2);
});

test('use of this span and of the one before is forecast, older use is not', () => {
  spent(40);
  expect(uses.expectedOf(7)).toBe(40);
  at += spanMs;
  expect(uses.expectedOf(7)).toBe(40);
  spent(10);
  at += spanMs;
  expect(uses.expectedOf(7)).toBe(10);
  // Two spans without a look, and nothing spent in them.
  spent(500);
  at += 2 * spanMs;
  expect(uses.expectedOf(7)).toBe(0);
});

test('before it runs short there is enough for the time of a lease, and half of it again', () => {
  lent();
  spent(60);
  idle = 160;
  uses.cleanup();
  expect(requested).toEqual([]);
  idle = 159;
  uses.cleanup();
  expect(requested).toEqual([{ account: 7, token: 0, amount: 31 }]);
});

test('a limit is leased ahead beside the balance; where no request has asked for a lease nothing is', () => {
  spent(60, 9);
  uses.cleanup();
  expect(requested).toEqual([]);
  uses.onGranted({ kind: 'token', subject: 9, owner: 7, need: 100, small: false, ample: false });
  uses.cleanup();
  expect(requested).toEqual([{ account: 7, token: 9, amount: 190 }]);
});

test.each([
  ['another node waits for it', () => uses.onRejected('account', 7)],
  ['the books had too little', () => uses.cleanup()],
])('for a while nothing is leased ahead where %s', (what, happens) => {
  lent();
  if (what.startsWith('the books')) free = 0;
  happens();
  requested = [];
  at += spanMs - 1;
  spent(1);
  uses.cleanup();
  expect(requested).toEqual([]);
  at += 1;
  uses.cleanup();
  expect(requested).toHaveLength(1);
});

test('of a small balance nothing is leased ahead, and what a request leaves goes back', () => {
  lent(true);
  uses.cleanup();
  spent(5);
  expect([requested, back]).toEqual([[], ['account 7']]);
});

test('a lease that was idle for a span is returned', () => {
  lent();
  at += spanMs;
  uses.cleanup();
  expect([requested, back]).toEqual([[], ['account 7']]);
});

test('use under a lost lease number is no forecast under the next', async () => {
  const moves: LeaseMove[] = [];
  let epoch = 1;
  const leaseStore = createLocalLeaseStore();
  const lending = createLeaseManager({
    leaseStore,
    nodeLease: { epoch: () => epoch, isValid: () => true, remainingMs: () => spanMs },
    wall: Date.now,
    async move(sent) {
      moves.push(...sent);
      return {
        grants: sent.map(() => ({
          ...{ account: 7, token: 0, granted: 100, tokenGranted: 0, max: 1_000_000 },
          ...{ tokenMax: 0, tokenBound: 'limit' as const, holders: [] },
        })),
      };
    },
    isUncertain: () => false,
    unavailable: () => false,
    leaseMs: spanMs,
    epoch: () => epoch,
    nodes: () => 1,
    send: () => undefined,
    now: () => at,
  });
  const acquire = () => lending.acquire({ userId: 7, tokenId: 0, house: false, more: 100, wish: 100 });
  lending.started(1);
  await acquire();
  lending.settled([settle('r', 7, 60)], []);
  lending.started(++epoch);
  await acquire();
  expect(moves.map((move) => move.type === 'acquire' && move.use)).toEqual([0, 0]);
  // Nothing that was leased under the first is given back under the second.
  lending.cleanup();
  expect(moves.filter(({ type }) => type === 'give-back')).toEqual([]);
});
