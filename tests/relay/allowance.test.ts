/** How far open requests may go beyond a balance: on paper, for whatever runs together and whatever it turns out to cost. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  allowanceOf,
  availableHeld,
  availableMax,
  holdFor,
  shortageOf,
} from '../../server/billing/balances/allowance.ts';

const terms = (more: Partial<Parameters<typeof allowanceOf>[0]> = {}) => ({
  most: 1_000_000,
  paidIn: 2_500_000,
  overrun: 0,
  nodes: 1,
  ...more,
});

test('a waiting request lacks what it holds beyond the balance, not what it may cost within the allowance', () => {
  const totals = { balance: 100, held: 90, max: 90 };
  expect(shortageOf(totals, 1000, { max: 50, likely: 30 })).toBe(20);
  expect(shortageOf(totals, 1000, { max: 50, likely: 0 })).toBe(0);
  expect(shortageOf(totals, 1000, { max: 20, likely: 30 })).toBe(10);
  expect(shortageOf(totals, 15, { max: 50, likely: 30 })).toBe(25);
});

test.each([
  ['who paid in more than it has all of it', {}, 1_000_000],
  ['who paid in less has what he paid in', { paidIn: 30 }, 30],
  ['who was given everything has none', { paidIn: 0 }, 0],
  ['who owes one unit has none', { overrun: 1 }, 0],
  ['an operator who wants exact holds gives none', { most: 0 }, 0],
  ['three machines have a third each, rounded down', { paidIn: 100, nodes: 3 }, 33],
  ['a machine that counts nobody is alone', { paidIn: 100, nodes: 0 }, 100],
])('%s', (_name, more, expected) => {
  expect(allowanceOf(terms(more))).toBe(expected);
});

test('an empty balance admits nothing, however large the allowance', () => {
  const empty = { balance: 0, held: 0, max: 0 };
  expect(availableMax(empty, 500)).toBe(0);
  expect(holdFor(empty, 500, { max: 10, likely: 1 })).toBe(null);
  expect(shortageOf(empty, 500, { max: 10, likely: 1 })).toBe(1);
  expect(holdFor({ ...empty, balance: 1 }, 500, { max: 10, likely: 1 })).toBe(1);
});

test('a free request holds nothing, even on an empty balance', () => {
  const nothing = { balance: 0, held: 0, max: 0 };
  expect(holdFor(nothing, 0, { max: 0, likely: 0 })).toBe(0);
  expect(shortageOf(nothing, 0, { max: 0, likely: 0 })).toBe(0);
});

test('an ample balance holds all, a small one what is likely, and never more than may be charged', () => {
  const of = (balance: number) => ({ balance, held: 0, max: 0 });
  expect(holdFor(of(6400), 0, { max: 100, likely: 10 })).toBe(100);
  expect(holdFor(of(6399), 0, { max: 100, likely: 10 })).toBe(10);
  expect(holdFor(of(100), 0, { max: 100, likely: 400 })).toBe(100);
  expect(holdFor(of(100), 0, { max: 100, likely: 0 })).toBe(1);
});

test('ten turns of a conversation that each may cost 55,175 and cost 2,927 run together on a balance for ten', () => {
  const balance = 10 * 2927;
  const allowance = allowanceOf(terms());
  let [held, max, served] = [0, 0, 0];
  for (; served < 12; served++) {
    const hold = holdFor({ balance, held, max }, allowance, { max: 55_175, likely: 2927 });
    if (hold === null) break;
    held += hold;
    max += 55_175;
  }
  expect(served).toBe(10);
});

/** Quota of all sizes, small ones often. */
const amount = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.nat(300));
const step = fc.oneof(
  fc.record({
    kind: fc.constant('reserve' as const),
    max: amount,
    part: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1.5, noNaN: true })),
  }),
  fc.record({
    kind: fc.constant('settle' as const),
    which: fc.nat(1000),
    part: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  }),
  fc.record({ kind: fc.constant('extend' as const), which: fc.nat(1000), to: amount }),
  fc.record({ kind: fc.constant('credit' as const), quota: amount, paid: fc.boolean() }),
);

interface Open {
  readonly max: number;
  held: number;
}

/** A user's books as the ledger keeps them: a balance never below zero, and what is owed, paid back out of each credit. */
class Books {
  balance = 0;
  overrun = 0;
  paidIn = 0;
  /** The relay's own: it has taken the charge off before the ledger brings back what another account paid. */
  readonly open: Open[] = [];

  constructor(readonly most: number) {}

  get totals() {
    let [held, max] = [0, 0];
    for (const one of this.open) {
      held += one.held;
      max += one.max;
    }
    return { balance: this.balance, held, max };
  }

  get allowance() {
    return allowanceOf({ most: this.most, paidIn: this.paidIn, overrun: this.overrun, nodes: 1 });
  }

  charge(cost: number) {
    const paid = Math.min(this.balance, cost);
    this.balance -= paid;
    this.overrun += cost - paid;
  }

  credit(quota: number, paid: boolean) {
    const back = Math.min(this.overrun, quota);
    this.overrun -= back;
    this.balance += quota - back;
    if (paid) this.paidIn += quota;
  }
}

test('whatever runs together and whatever it costs within its max, nobody comes to owe more than his allowance', () => {
  let admitted = 0;
  let owed = 0;
  fc.assert(
    fc.property(fc.nat(300), amount, fc.array(step, { minLength: 20, maxLength: 60 }), (most, first, steps) => {
      const books = new Books(most);
      books.credit(first, first % 3 > 0);
      for (const one of steps) {
        if (one.kind === 'credit') books.credit(one.quota, one.paid);
        else if (one.kind === 'reserve') {
          const cost = { max: one.max, likely: Math.floor(one.max * one.part) };
          const { totals, allowance } = books;
          const held = holdFor(totals, allowance, cost);
          const lacking = shortageOf(totals, allowance, cost);
          expect(held === null).toBe(lacking > 0);
          // Exactly what is lacking would do, and one unit less would not.
          if (lacking > 0) {
            expect(holdFor({ ...totals, balance: totals.balance + lacking }, allowance, cost)).not.toBe(null);
            expect(holdFor({ ...totals, balance: totals.balance + lacking - 1 }, allowance, cost)).toBe(null);
          }
          if (held === null) continue;
          expect(held).toBeLessThanOrEqual(one.max);
          expect(held).toBeLessThanOrEqual(availableHeld(totals));
          // Nothing may be missing: all of it fits the balance, what was admitted before included.
          if (allowance === 0 && one.max > 0) expect(totals.max + one.max).toBeLessThanOrEqual(books.balance);
          books.open.push({ max: one.max, held });
          admitted++;
        } else {
          const request = books.open[one.which % Math.max(1, books.open.length)];
          if (request === undefined) continue;
          if (one.kind === 'extend') {
            const to = Math.min(request.max, one.to);
            if (to > request.held && to - request.held <= availableHeld(books.totals)) request.held = to;
            continue;
          }
          books.open.splice(books.open.indexOf(request), 1);
          books.charge(Math.floor(request.max * one.part));
        }
        const bound = Math.min(most, books.paidIn);
        expect(books.overrun).toBeLessThanOrEqual(bound);
        // Should all that is open cost its max now.
        expect(books.overrun + Math.max(0, books.totals.max - books.balance)).toBeLessThanOrEqual(bound);
        if (books.overrun > 0) owed++;
      }
    }),
    { numRuns: 300, seed: 20261129 },
  );
  // The property is not empty.
  expect(admitted).toBeGreaterThan(1000);
  expect(owed).toBeGreaterThan(30);
});

test('on several machines the shares together stay within the allowance', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.nat(1_000_000), fc.integer({ min: 1, max: 20 }), (most, paidIn, nodes) => {
      expect(nodes * allowanceOf({ most, paidIn, overrun: 0, nodes })).toBeLessThanOrEqual(Math.min(most, paidIn));
    }),
  );
});

test('what open requests may cost beyond balance and allowance leaves nothing to admit, and no less than nothing', () => {
  expect(availableMax({ balance: 10, held: 0, max: 100 }, 20)).toBe(0);
  expect(availableMax({ balance: 10, held: 0, max: 25 }, 20)).toBe(5);
});
