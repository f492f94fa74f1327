/** Fractions of a unit are carried over per user: charges add up to the exact sum, less than a unit short of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Balances } from '../../server/billing/balances/money.ts';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import {
  chargedOf,
  chargeOf,
  highestQuotaOf,
  maxQuota,
  oneUnit,
  priceFields,
  quotaOf,
  quote,
  recompute,
} from '../../server/contract/pricing/charge.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { reserveEstimate } from '../../server/contract/pricing/reserve.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { plainPrices } from '../support/plain-prices.ts';

const prices = (over: Partial<Prices>): Prices =>
  plainPrices({ cacheWriteRatio: 1.25, cacheWrite1hRatio: 2, cacheWrite12hRatio: 2.5, ...over });

const user = { id: 1, username: 'u', role: 1, status: 1, group: 'default', balance: 1e15, used: 0 };
const account = () => {
  const balances = new Balances();
  balances.money.accounts.observeUser({ ...user, balanceVersion: 0, overrun: 0, setting: {} });
  return balances.account(1, 0);
};
type Tokens = Partial<Record<'input' | 'output' | 'cacheRead', number>> & {
  readonly toolCalls?: Readonly<Record<string, number>>;
};
const usageOf = (counts: Tokens) => ({ ...emptyUsage, ...counts });

/** Settles one request. @returns the whole units that it was charged with, and what its row says was carried. */
function settle(one: ReturnType<typeof account>, counts: Tokens, base: Prices) {
  const { whole, rest } = chargeOf(usageOf(counts), base);
  const carried = one.settle({ reserved: 0, charged: whole, rest });
  return { quota: chargedOf(whole, rest, carried), carried };
}

const embedding = prices({ modelRatio: 0.01 });
test.each([
  ['100 embeddings of 49 tokens', embedding, { input: 49 }, 49],
  ['100 chats of 4 tokens at a ratio of 0.1', prices({ modelRatio: 0.1 }), { input: 4 }, 40],
  ['100 chats of 6 tokens of gpt-4o-mini', prices({ modelRatio: 0.075 }), { input: 6 }, 45],
  ['100 answers of 1.49', prices({ modelRatio: 0.01 }), { input: 149 }, 149],
  [
    '100 searches by the long way',
    prices({ modelRatio: 0.01, toolPrices: new Map([['search', 0.000001]]) }),
    { input: 49, toolCalls: { search: 1 } },
    99,
  ],
  ['100 calls of a price below a unit', prices({ modelPrice: 0.000001 }), {}, 50],
] as const)('%s cost their exact sum', (_name, base, counts, sum) => {
  const one = account();
  let charged = 0;
  let exact = 0;
  for (let n = 1; n <= 100; n++) {
    charged += settle(one, counts, base).quota;
    exact = (sum * n) / 100;
    expect(Math.abs(exact - charged)).toBeLessThan(1 + 1e-9);
    expect(charged).toBeLessThanOrEqual(exact + 1e-9);
  }
  expect(charged).toBe(sum);
});

const ratio = fc.integer({ min: 1, max: 40_000_000 }).map((millionths) => millionths / 1e6);
const anyPrices = fc
  .record({ modelRatio: ratio, completionRatio: ratio, cacheRatio: ratio, groupRatio: ratio })
  .map(prices);
const anyCounts = fc.record({
  input: fc.integer({ min: 0, max: 5000 }),
  output: fc.integer({ min: 0, max: 500 }),
  cacheRead: fc.integer({ min: 0, max: 5000 }),
});
/** 10^24 in a unit. */
const exactly = ({ input, output, cacheRead }: { input: number; output: number; cacheRead: number }, base: Prices) => {
  const scaled = (value: number) => BigInt(Math.round(value * 1e6));
  const tokens =
    BigInt(input) * 1_000_000n +
    BigInt(output) * scaled(base.completionRatio) +
    BigInt(cacheRead) * scaled(base.cacheRatio);
  return tokens * scaled(base.modelRatio) * scaled(base.groupRatio) * 1_000_000n;
};

test('whatever is charged: the sum is the exact sum without its fraction, each row is recomputed, no hold falls short', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyCounts, anyPrices), { minLength: 1, maxLength: 12 }), (requests) => {
      const one = account();
      let charged = 0;
      let exact = 0n;
      for (const [counts, base] of requests) {
        const { quota, carried } = settle(one, counts, base);
        charged += quota;
        exact += exactly(counts, base);
        const fields = { ...priceFields(usageOf(counts), base), carried: carried / oneUnit };
        expect(recompute(JSON.parse(JSON.stringify(fields)))?.quota).toBe(quota);
        expect(highestQuotaOf(usageOf(counts), base)).toBeGreaterThanOrEqual(quota);
        const dearest = counts.input + counts.cacheRead;
        const hold = reserveEstimate(base, { promptTokens: dearest, maxTokens: counts.output });
        if (base.cacheRatio <= 1) expect(hold).toBeGreaterThanOrEqual(quota);
        const likely = reserveEstimate(base, {
          promptTokens: dearest,
          cached: counts.cacheRead,
          maxTokens: counts.output,
        });
        expect(likely).toBeLessThanOrEqual(hold);
        expect(likely).toBeGreaterThanOrEqual(quota);
      }
      // Finer than a millionth of a millionth is cut off.
      const lost = Number(exact - BigInt(charged) * 10n ** 24n) / 1e24;
      expect(lost).toBeGreaterThanOrEqual(0);
      expect(lost).toBeLessThan(1 + 1e-9);
    }),
    { numRuns: 500 },
  );
});

test('the short way and the long one find the same units and the same rest', () => {
  fc.assert(
    fc.property(anyCounts, anyPrices, (counts, base) => {
      const long = { ...usageOf(counts), toolCalls: { unpriced: 0 } };
      expect(chargeOf(usageOf(counts), base)).toEqual(chargeOf(long, base));
    }),
    { numRuns: 500 },
  );
});

test('a row without a carried part was rounded half up, and one with zero was not', () => {
  const fields = priceFields(usageOf({ input: 149 }), embedding);
  const quotas = [undefined, 0, 0.5, 0.51, 0.999999999999, 1, -0.1, '0.9'].map(
    (carried) => recompute({ ...fields, carried })?.quota,
  );
  expect(quotas).toEqual([1, 1, 1, 2, 2, 1, 1, 1]);
  const upper = priceFields(usageOf({ input: 151 }), embedding);
  expect([undefined, 0].map((carried) => recompute({ ...upper, carried })?.quota)).toEqual([2, 1]);
  expect(recompute({ ...upper, carried: 0.5 })?.carried).toBe(0.5);
  expect([quotaOf(usageOf({ input: 151 }), embedding), quote(usageOf({ input: 151 }), embedding).quota]).toEqual([
    2, 2,
  ]);
});

test('a charge without an exact sum carries nothing and takes nothing', () => {
  const one = account();
  expect(one.settle({ reserved: 0, charged: 0, rest: oneUnit / 2 })).toBe(0);
  expect(one.settle({ reserved: 0, charged: 7 })).toBe(0);
  expect(one.settle({ reserved: 0, charged: 0, rest: oneUnit / 4 })).toBe(oneUnit / 2);
  expect(one.limits().used).toBe(7);
  expect(one.settle({ reserved: 0, charged: 0, rest: oneUnit / 4 })).toBe((oneUnit / 4) * 3);
  expect(one.limits().used).toBe(8);
  expect(one.settle({ reserved: 0, charged: 0, rest: 0 })).toBe(0);
});

test('the fractions of one user are none of another, nor of his keys', () => {
  const balances = new Balances();
  const { accounts, memory } = balances.money;
  for (const id of [1, 2]) accounts.observeUser({ ...user, id, balanceVersion: 0, overrun: 0, setting: {} });
  balances.account(1, 0).settle({ reserved: 0, charged: 0, rest: 900_000_000_000 });
  expect(balances.account(2, 0).settle({ reserved: 0, charged: 0, rest: 5 })).toBe(0);
  expect([1, 2].map((id) => memory.get(accounts.user(id) + UserSlot.rest))).toEqual([900_000_000_000, 5]);
  // Nobody is known by that id here.
  expect(balances.account(3, 0).settle({ reserved: 0, charged: 4, rest: 900_000_000_000 })).toBe(0);
});

test('a hold is rounded up, by either way, and a whole sum stays', () => {
  const hold = (promptTokens: number, base = embedding, toolCalls?: Readonly<Record<string, number>>) =>
    reserveEstimate(base, { promptTokens, maxTokens: 0, ...(toolCalls === undefined ? {} : { toolCalls }) });
  expect([0, 1, 100, 101, 149, 151, 200].map((tokens) => hold(tokens))).toEqual([0, 1, 1, 2, 2, 2, 2]);
  const searching = prices({ modelRatio: 0.01, toolPrices: new Map([['search', 0.000002]]) });
  expect([100, 101, 200].map((tokens) => hold(tokens, searching, { search: 1 }))).toEqual([2, 3, 3]);
  expect([100, 101, 200].map((input) => highestQuotaOf(usageOf({ input }), embedding))).toEqual([1, 2, 2]);
  expect(hold(1e9, prices({ modelRatio: 1e9 }))).toBe(maxQuota);
});

test('the largest charge carries nothing further', () => {
  const base = prices({ modelRatio: 1e9 });
  expect(chargeOf(usageOf({ input: 2_000_000 }), base)).toEqual({ whole: maxQuota, rest: 0 });
  expect(chargedOf(maxQuota, oneUnit - 1, 1)).toBe(maxQuota);
});

test('words that cost nothing by their ratio cost one unit each time, and carry nothing', () => {
  const base = prices({ modelRatio: 1, completionRatio: 0 });
  expect(chargeOf(usageOf({ output: 5 }), base)).toEqual({ whole: 1, rest: 0 });
  const one = account();
  for (let n = 0; n < 3; n++) expect(settle(one, { output: 5 }, base)).toEqual({ quota: 1, carried: 0 });
});
