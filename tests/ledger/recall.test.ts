/** Who waits for money that lies elsewhere believes what was said after its own question, and nothing older. */

import { expect, test } from 'vitest';
import { type LeaseAnswer, Leases } from '../../server/billing/leases/leases.ts';
import type { Grant, LeaseMove } from '../../server/billing/ports.ts';
import { createLeaseMessages, received } from '../../server/cluster/lease-messages.ts';

const [account, requester, holder, key] = [7, 1, 2, 70];

/** A clock moved by hand; due timers run in order, and what follows from them at once. */
function createHandClock() {
  let at = 1000;
  const due: { readonly at: number; readonly work: () => void }[] = [];
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => at,
    after: (ms: number, work: () => void) => void due.push({ at: at + ms, work }),
    /** @param ms so much of it. */
    async pass(ms: number) {
      const until = at + ms;
      await settled();
      for (;;) {
        const next = due.toSorted((one, other) => one.at - other.at)[0];
        if (next === undefined || next.at > until) break;
        due.splice(due.indexOf(next), 1);
        at = next.at;
        next.work();
        await settled();
      }
      at = until;
    },
  };
}

/** A node whose need another node could carry: the books have nothing free. */
function asking(holders: readonly number[] = [holder]) {
  const marks: number[] = [];
  const state = { free: 0, asked: 0 };
  let here = 0;
  const clock = createHandClock();
  const leases = new Leases({
    leaseStore: {
      raise: (_kind, _subject, amount) => {
        here += amount;
      },
      takeIdle: () => 0,
      drop: () => undefined,
    },
    async move(moves) {
      state.asked++;
      const grants = moves.map((): Grant => {
        const granted = state.free;
        state.free = 0;
        return {
          ...{ account, token: 0, granted, tokenGranted: 0, max: 1000 },
          ...{ tokenMax: 0, tokenBound: 'limit', holders },
        };
      });
      // Reads happen before the message arrives.
      await new Promise<void>((resolve) => clock.after(5, resolve));
      return { grants };
    },
    isUncertain: () => false,
    recall: (_account, _token, _holders, mark) => void marks.push(mark),
    answer: () => undefined,
    nodes: () => 2,
    unavailable: () => false,
    now: clock.now,
    after: clock.after,
  });
  leases.begin(requester);
  const reserve = (): boolean => {
    if (here < 10) return false;
    here -= 10;
    return true;
  };
  const ask = () =>
    leases.request({ account, token: 0, need: 10, missing: () => ({ account: 10, token: 0 }), reserve, partial: true });
  return { leases, marks, books: state, ask, pass: clock.pass };
}

test('an answer to an earlier recall does not make a balance used up', async () => {
  const { leases, marks, ask, pass } = asking();
  const first = ask();
  await pass(10);
  expect(marks).toEqual([1]);
  leases.onResponse(account, holder, 1);
  await pass(100);
  expect(await first).toBe('exhausted');
  let answered: LeaseAnswer | null = null;
  void ask().then((answer) => {
    answered = answer;
  });
  await pass(100);
  expect(marks).toEqual([1, 2]);
  // Received late, or read again where NOTIFY does not arrive.
  leases.onResponse(account, holder, 1);
  await pass(300);
  expect([answered, marks]).toEqual([null, [1, 2]]);
  leases.onResponse(account, holder, 2);
  await pass(100);
  expect(answered).toBe('exhausted');
});

test('quota returned after a refusal serves the next request at once', async () => {
  const { books: state, ask, pass } = asking([]);
  const answers: LeaseAnswer[] = [];
  const request = () => void ask().then((answer) => answers.push(answer));
  for (let n = 0; n < 5; n++) {
    state.free = 0;
    request();
    await pass(10);
    expect(answers).toEqual(['exhausted']);
    state.free = 10;
    request();
    await pass(50);
    expect(answers.splice(0)).toEqual(['exhausted', 'granted']);
  }
});

test('a crowd that comes together costs the books no more than one', async () => {
  const { books: state, ask, pass } = asking([]);
  void ask();
  await pass(50);
  const before = state.asked;
  const answers: LeaseAnswer[] = [];
  for (let n = 0; n < 500; n++) void ask().then((answer) => answers.push(answer));
  await pass(50);
  expect(answers).toEqual(Array(500).fill('exhausted'));
  expect(state.asked - before).toBe(before);
});

test('while the database is away no request waits for it: a request that needs more than lies here is refused at once, and nothing is sent', async () => {
  let [unavailable, requested, looks] = [true, 0, 0];
  const leases = new Leases({
    leaseStore: { raise: () => undefined, takeIdle: () => 0, drop: () => undefined },
    move: async () => {
      requested++;
      throw new Error('connection refused');
    },
    isUncertain: () => false,
    recall: () => undefined,
    answer: () => undefined,
    nodes: () => 2,
    unavailable: () => {
      looks++;
      return unavailable;
    },
    // The clock is stopped: waiting would never end.
    now: () => 0,
    after: () => undefined,
  });
  const needs = (held: boolean) =>
    leases.request({ account, token: 0, need: 10, missing: () => ({ account: 10, token: 0 }), reserve: () => held });
  expect([await needs(false), await needs(true)]).toEqual(['away', 'granted']);
  leases.prefetch(account, 0, 10, () => undefined);
  expect([requested, looks > 0]).toEqual([0, true]);
  unavailable = false;
  leases.prefetch(account, 0, 10, () => undefined);
  expect(requested).toBe(1);
});

/** A node that asks for a balance and for a key's limit. @param state what these grant. */
function askingForKey(state: Partial<Grant>) {
  const recalls: (readonly [token: number, tokenOnly: boolean])[] = [];
  const clock = createHandClock();
  const leases = new Leases({
    leaseStore: { raise: () => undefined, takeIdle: () => 0, drop: () => undefined },
    move: async (moves) => ({
      grants: moves.map(() => ({
        ...{ account, token: key, granted: 0, tokenGranted: 0, max: 1000 },
        ...{ tokenMax: 1000, tokenBound: 'limit' as const, holders: [holder] },
        ...state,
      })),
    }),
    isUncertain: () => false,
    recall: (_account, token, _holders, mark, tokenOnly) => {
      recalls.push([token, tokenOnly]);
      clock.after(1, () => leases.onResponse(account, holder, mark));
    },
    answer: () => undefined,
    nodes: () => 2,
    unavailable: () => false,
    now: clock.now,
    after: clock.after,
  });
  leases.begin(requester);
  // Whatever is granted has been taken back by another node's recall before it is held.
  const missing = () => ({ account: 10, token: 10 });
  const answer = leases.request({ account, token: key, need: 10, missing, reserve: () => false, partial: true });
  return { answer, recalls, pass: clock.pass };
}

test('a key that is used up is said to be that, though what was granted of the balance has been taken back: and only the key is recalled', async () => {
  const { answer, recalls, pass } = askingForKey({ granted: 10 });
  await pass(1000);
  expect(await answer).toBe('token-exhausted');
  expect(recalls).toEqual([[key, true]]);
});

test('a balance that is used up is said to be that, and only the balance is recalled', async () => {
  const { answer, recalls, pass } = askingForKey({ tokenGranted: 10 });
  await pass(1000);
  expect(await answer).toBe('exhausted');
  expect(recalls).toEqual([[0, false]]);
});

test('a lease that was granted in full and taken back is asked for again, and is not used up', async () => {
  const { answer, recalls, pass } = askingForKey({ granted: 10, tokenGranted: 10 });
  await pass(3000);
  expect(await answer).toBe('elsewhere');
  expect(recalls).toEqual([]);
});

test('recalls of one turn travel together: each node named in any of them returns its lease', () => {
  const sent: string[] = [];
  const works: (() => void)[] = [];
  const messages = createLeaseMessages({
    wire: { send: (text) => void sent.push(text) },
    epoch: () => requester,
    later: (work) => void works.push(work),
  });
  messages.recall(account, key, [holder, 3], 4, true);
  messages.recall(account, key, [5], 6, false);
  messages.recall(account, key, [3], 7, true);
  works[0]?.();
  const at = (own: number) => {
    const recalls: unknown[] = [];
    for (const text of sent)
      received(text, own, { recalled: (...recall) => void recalls.push(recall), answered: () => undefined });
    return recalls;
  };
  // A recall of the balance is not lost to a later one of the key alone.
  for (const own of [holder, 3, 5]) expect(at(own)).toEqual([[account, key, requester, 7, false]]);
  expect(at(6)).toEqual([]);
});

/** A node whose moves are carried out by hand. */
function carried() {
  const connect = new Map([['account', 30]]);
  const works: (() => void)[] = [];
  const moves: { readonly sent: readonly LeaseMove[]; done(granted: number): void; failed(): void }[] = [];
  const leases = new Leases({
    leaseStore: {
      raise: (kind, _subject, amount) => void connect.set(kind, (connect.get(kind) ?? 0) + amount),
      takeIdle(kind) {
        const amount = connect.get(kind) ?? 0;
        connect.set(kind, 0);
        return amount;
      },
      drop: () => connect.clear(),
    },
    move: (sent) =>
      new Promise((resolve, reject) => {
        const grant = {
          account,
          token: 0,
          tokenGranted: 0,
          max: 1000,
          tokenMax: 0,
          tokenBound: 'limit',
          holders: [],
        } as const;
        moves.push({
          sent,
          done: (granted) => resolve({ grants: [{ ...grant, granted }] }),
          failed: () => reject(new Error('turned down')),
        });
      }),
    isUncertain: () => false,
    recall: () => undefined,
    answer: () => undefined,
    nodes: () => 1,
    unavailable: () => false,
    now: () => 0,
    after: (_ms, work) => void works.push(work),
  });
  return { leases, reach: connect, works, moves };
}

test('returned quota is out of reach before the books are asked, stays so when they fail, and goes back with the next', async () => {
  const { leases, reach: connect, works, moves } = carried();
  leases.begin(1);
  connect.set('account', 30);
  leases.idle('account', account);
  expect(connect.get('account')).toBe(0);
  moves[0]?.failed();
  await expect.poll(() => works).toHaveLength(1);
  expect(connect.get('account')).toBe(0);
  works[0]?.();
  const sent = [{ type: 'give-back', kind: 'account', subject: account, amount: 30 }];
  expect(moves.map((one) => one.sent)).toEqual([sent, sent]);
});

test('quota granted under a lost lease number is out of reach under the next', async () => {
  const { leases, reach: connect, works, moves } = carried();
  leases.begin(1);
  const missing = () => ({ account: 10 - (connect.get('account') ?? 0), token: 0 });
  const reserve = () => missing().account <= 0;
  const answer = leases.request({ account, token: 0, need: 10, missing, reserve });
  expect(moves).toHaveLength(1);
  leases.begin(2);
  moves[0]?.done(10);
  // It asks again under its new number.
  const before = works.length;
  await expect.poll(() => works.length).toBeGreaterThan(before);
  expect(connect.get('account')).toBeUndefined();
  for (const work of works.splice(0)) work();
  await expect.poll(() => moves).toHaveLength(2);
  moves[1]?.done(10);
  expect(await answer).toBe('granted');
  expect(connect.get('account')).toBe(10);
});

test('an answer is for the node that asked', () => {
  const sent: string[] = [];
  const works: (() => void)[] = [];
  const messages = createLeaseMessages({
    wire: { send: (text) => void sent.push(text) },
    epoch: () => holder,
    later: (work) => void works.push(work),
  });
  messages.answer(account, requester, 5);
  messages.answer(account, 3, 9);
  works[0]?.();
  const at = (own: number) => {
    const answers: (readonly number[])[] = [];
    for (const text of sent)
      received(text, own, { recalled: () => undefined, answered: (...answer) => void answers.push(answer) });
    return answers;
  };
  expect(at(requester)).toEqual([[account, holder, 5]]);
  expect(at(3)).toEqual([[account, holder, 9]]);
  expect(at(4)).toEqual([]);
});
