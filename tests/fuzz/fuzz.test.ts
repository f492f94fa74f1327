/** A share of `node scripts/launch.mjs lab/fuzz/fuzz`, which runs 20,000 cases of each: from seeds that found something once, and from new ones. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { randomOf } from '../support/random.ts';
import { damageOf } from './damage.ts';
import { targets } from './targets.ts';

const cases = 150;
const kept = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as Record<string, number[]>;

test.each(Object.entries(targets))('%s: whatever comes is read, or refused with words', async (name, target) => {
  const first = Number(process.env.FUZZ_SEED ?? Math.floor(Date.now() / 1000));
  const seeds = [...(kept[name] ?? []), ...Array.from({ length: cases }, (_, n) => first + n)];
  for (const seed of seeds) {
    const outcome = await Promise.resolve()
      .then(() => target(damageOf(randomOf(seed))))
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect([seed, outcome]).toEqual([seed, null]);
  }
});
