import { expect, test } from 'vitest';
import { often } from '../support/often.ts';
import { playHistory, sqliteBooks } from './history.ts';
import { breakable, openBooks, violations } from './support.ts';

/** `HISTORY_SEED=4711` replays one history that failed. */
const seedText = process.env.HISTORY_SEED;
const [first, histories] = seedText === undefined ? [0, often(350, 10_000, 'HISTORIES')] : [Number(seedText), 1];
const together = 500;

/** The books are verified for many histories at once; when they are wrong, each is played alone to name the seed. */
async function culprit(from: number): Promise<string> {
  for (let seed = from; seed < from + together; seed++) {
    const wrong = await wrongAfter(seed, 1);
    if (wrong.length > 0) return `seed ${seed}`;
  }
  return 'only together';
}

async function wrongAfter(from: number, count: number) {
  const database = await openBooks();
  const state = sqliteBooks(breakable(database.raw));
  for (let n = 0; n < count; n++) await playHistory(state, from + n, n + 1);
  const wrong = violations(database);
  await database.close();
  return wrong;
}

test('seeded histories with crashes and restarts agree with the model and keep I1 to I11', async () => {
  for (let from = first; from < first + histories; from += together) {
    const wrong = await wrongAfter(from, Math.min(together, histories));
    expect(wrong, wrong.length === 0 ? '' : await culprit(from)).toEqual([]);
  }
});
