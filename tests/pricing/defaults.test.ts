/** The prices that are shipped have an age. */
import { expect, test } from 'vitest';
import { pricesAge, pricesDate } from '../../server/contract/pricing/defaults.ts';

test('shipped prices are as old as the whole days since they were read, and never younger than none', () => {
  const read = Date.parse(`${pricesDate}T00:00:00Z`);
  const day = 86_400_000;
  expect([-day, 0, day - 1, day, 31 * day + 5].map((passed) => pricesAge(read + passed))).toEqual([0, 0, 0, 1, 31]);
});
