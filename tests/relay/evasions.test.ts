/** No request hides words from what is reserved for it, nor from what is charged where the upstream reports no usage. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClientDialect, clientDialects, hitOf, openStage, promptCases, type Stage } from '../support/evasions.ts';
import { figure } from '../support/figure.ts';
import { often } from '../support/often.ts';

/** `EVASIONS` is how many requests of each dialect are tried, `EVASION_SEED` where they begin. */
const count = often(50, 1500, 'EVASIONS');
const seed = Number(process.env.EVASION_SEED ?? 20_261_123);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test.each(clientDialects)(
  'no words of a prompt hide from the bill: %s',
  { timeout: 3_600_000 },
  async (dialect: ClientDialect) => {
    const sums = { requests: 0, arrived: 0, refused: 0, hits: 0 };
    const hits: string[] = [];
    for (const one of fc.sample(promptCases(dialect), { numRuns: count, seed })) {
      const played = await stage.play(one);
      sums.requests++;
      if (played.min !== null) sums.arrived++;
      // Two dialects have a status of their own for money that is used up.
      if (played.status === 403 || played.status === 429) sums.refused++;
      const hit = hitOf(one, played);
      if (hit === null) continue;
      sums.hits++;
      if (hits.length < 5)
        hits.push(`${hit} ${JSON.stringify({ ...one, body: undefined })}: ${played.arrived.slice(0, 600)}`);
    }
    figure(
      `${dialect}: ${sums.requests} requests, ${sums.arrived} arrived, ${sums.refused} refused, ${sums.hits} hits`,
    );
    expect(hits).toEqual([]);
    expect(Math.min(sums.arrived, sums.refused)).toBeGreaterThan(count / 20);
  },
);

test.each([
  ['of each of many', 'a'],
  ['a line for each member', { data: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [String(at), ''])) }],
])('the names that documents get on their way to another dialect are charged, %s', async (_, document) => {
  const played = await stage.play({
    dialect: 'cohere-chat',
    body: {
      messages: [{ role: 'user', content: 'hello' }],
      documents: Array.from({ length: 400 }, () => document),
      max_tokens: 16,
    },
    ...{ escaped: false, translated: true, usage: false, balance: null },
  });
  expect(played.arrived).toContain('Document: 399');
  expect(played.charged).toBeGreaterThanOrEqual(played.min ?? Number.POSITIVE_INFINITY);
  expect(played.reserved).toBeGreaterThanOrEqual(played.min ?? Number.POSITIVE_INFINITY);
});
