import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLong } from '../support/often.ts';
import { talkers } from './grid/talk.ts';
import { pairs, stations, walk } from './grid/walk.ts';
import { createWorld, type World } from './grid/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld(Object.values(stations));
});
afterAll(() => world.close());

test.each(pairs)('three turns with tools and thoughts, %s and %s by turns', async (...pair) => {
  const rejected: string[] = [];
  const at = pairs.findIndex(([first, second]) => first === pair[0] && second === pair[1]);
  // All of them is what `npm run walk` does.
  for (const [place, talker] of talkers.entries())
    for (const within of isLong ? [false, true] : [(at + place) % 2 === 0]) {
      const result = await walk(world, talker, pair, within);
      expect(result.exchanges.length).toBeGreaterThan(0);
      if (result.rejected !== null) rejected.push(`${result.name}: ${result.rejected}`);
    }
  expect(rejected).toEqual([]);
});
