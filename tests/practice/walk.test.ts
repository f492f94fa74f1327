import { afterAll, beforeAll, expect, test } from 'vitest';
import { talkers } from './grid/talk.ts';
import { pairs, stations, walk } from './grid/walk.ts';
import { createWorld, type World } from './grid/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld(Object.values(stations));
});
afterAll(() => world.close());

test.each(pairs)('three turns with tools and thoughts, %s and %s by turns', async (...pair) => {
  const refused: string[] = [];
  for (const talker of talkers)
    for (const within of [false, true]) {
      const result = await walk(world, talker, pair, within);
      expect(result.exchanges.length).toBeGreaterThan(0);
      if (result.refused !== null) refused.push(`${result.name}: ${result.refused}`);
    }
  expect(refused).toEqual([]);
});
