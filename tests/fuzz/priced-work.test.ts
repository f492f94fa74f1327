/** No member of a request, however it is spelled, repeated, typed or placed, has an upstream do more than is reserved, nor deliver more than is charged. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { figure } from '../support/figure.ts';
import { isLong, often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { allReaders, among, bodyFor, faultOf, openStage, operations } from './priced-work.ts';

/** `PRICED_WORK` is how many requests of a seed are tried, `PRICED_WORK_SEED` the one seed. */
const count = often(400, 20_000, 'PRICED_WORK');
const own = process.env.PRICED_WORK_SEED;
const seeds = own === undefined ? (isLong ? [1, 2, 3] : [20_261_128]) : [Number(own)];

let stage: Awaited<ReturnType<typeof openStage>>;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test.each(seeds)('hidden work is paid for: seed %d', { timeout: 3_600_000 }, async (seed) => {
  const random = randomOf(seed);
  const names = Object.keys(operations);
  const faults = new Map<string, number>();
  const examples: string[] = [];
  const silent = new Set(names);
  let arrived = 0;
  let done = 0;
  for (let at = 0; at < count; at++) {
    const name = names[at % names.length] ?? '';
    const operation = operations[name];
    if (operation === undefined) throw new Error(name);
    const played = await stage.play(operation, bodyFor(operation, random), among(allReaders, random));
    if (played.arrived !== null) arrived++;
    if (played.did !== null && played.status === 200) {
      done++;
      silent.delete(name);
    }
    const fault = faultOf(operation, played);
    if (fault === null) continue;
    faults.set(name, (faults.get(name) ?? 0) + 1);
    if (examples.length < Number(process.env.PRICED_WORK_EXAMPLES ?? 8))
      examples.push(`${name}: ${fault}: ${played.body.slice(0, 600)}`);
  }
  const sum = [...faults.values()].reduce((all, one) => all + one, 0);
  figure(
    `seed ${seed}: ${count} requests, ${arrived} arrived, ${done} answered, ${sum} too cheap ${JSON.stringify([...faults])}`,
  );
  expect(examples).toEqual([]);
  expect([...silent]).toEqual([]);
  expect(Math.min(arrived, done)).toBeGreaterThan(count / 4);
});
