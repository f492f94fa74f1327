/** What stands below a name of a megabyte costs no more for each member than below a short one. */
import { expect, test } from 'vitest';
import { withoutModifiers } from '../../server/relay/admission/modifiers.ts';
import type { SentModifiers } from '../../server/routing/offers.ts';

const name = 'x'.repeat(1_000_000);

/** Processor milliseconds for taking out so many terms below the name. */
function msFor(terms: number): number {
  const names = Array.from({ length: terms }, (_, at) => `speed_${at}`);
  const body = { [name]: Object.fromEntries(names.map((term) => [term, 'fast'])) };
  const removed = names.map((term) => [name, term]);
  const dropped = names.map((term) => `/${term}: has no price here`);
  const before = process.threadCpuUsage();
  const said = withoutModifiers(body, { removed, dropped } as unknown as SentModifiers);
  const { user, system } = process.threadCpuUsage(before);
  expect(said).toEqual(dropped);
  expect(body).toEqual({ [name]: {} });
  return (user + system) / 1000;
}

test('a name is folded once for all members below it', () => {
  msFor(10);
  // A fold takes a millisecond: 2,000 of them would take seconds.
  expect(msFor(2000)).toBeLessThan(20 * Math.max(10, msFor(10)));
});
