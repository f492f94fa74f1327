/** The longest answer that a balance carries, against the definition itself. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { affordableOutput, minWorth } from '../../server/relay/admission/answer-limit.ts';
import { type Estimate, reserveFor } from '../../server/relay/admission/meter.ts';
import { plainPrices } from '../support/plain-prices.ts';

function estimate(over: Partial<Estimate>): Estimate {
  const made = {
    prices: plainPrices(),
    promptTokens: 10,
    maxTokens: 100,
    reserveAmount: 0,
    fallback: 10,
    own: over.promptTokens ?? 10,
    rereads: 0,
    found: 0,
    window: Number.POSITIVE_INFINITY,
    answer: null,
    others: [],
    ...over,
  };
  return { ...made, reserveAmount: reserveFor(made, made.maxTokens) };
}

test('one more token than what is affordable is not', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 500 }),
      fc.integer({ min: 1, max: 5000 }),
      fc.constantFrom(0.01, 0.075, 0.5, 1, 2.5, 15),
      fc.constantFrom(0.5, 1, 4, 8),
      fc.integer({ min: 0, max: 20_000 }),
      (promptTokens, maxTokens, modelRatio, completionRatio, available) => {
        const one = estimate({ promptTokens, maxTokens, prices: plainPrices({ modelRatio, completionRatio }) });
        const found = affordableOutput(one, available);
        if (found > 0) expect(reserveFor(one, found)).toBeLessThanOrEqual(available);
        if (found < maxTokens) expect(reserveFor(one, found + 1)).toBeGreaterThan(available);
        expect(found).toBeLessThanOrEqual(maxTokens);
      },
    ),
    { numRuns: 500 },
  );
});

test.each([
  [110, 100],
  [109, 99],
  [11, 1],
  [10, 0],
  [0, 0],
  [1000, 100],
])('a prompt of ten and at most a hundred at one each: %d affords %d', (available, expected) => {
  expect(affordableOutput(estimate({}), available)).toBe(expected);
});

const limit = (tokens: number, thinking = false) =>
  ({ tokens, choices: 1, model: { thinking, known: true, output: 1 } }) as unknown as Estimate['answer'];

test.each([
  [null, {}, 0],
  [limit(1000), {}, 16],
  [limit(5), {}, 5],
  [limit(100_000, true), {}, 4096],
  [limit(1000, true), {}, 1000],
  [limit(100_000), { thinking: { type: 'enabled', budget_tokens: 2000 } }, 4096],
  [limit(100_000), { thinking: { type: 'enabled', budget_tokens: 1 } }, 4096],
  [limit(100_000), { thinking: { type: 'disabled', budget_tokens: 0 } }, 16],
  [limit(100_000), { thinking: { budget_tokens: '2000' } }, 16],
])('the shortest answer of worth of %j with %j is %d', (answer, body, expected) => {
  expect(minWorth(estimate({ answer }), body)).toBe(expected);
});
