import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLong } from '../support/often.ts';
import { type CellResult, runCell, scenariosOf } from './grid/cell.ts';
import type { Driver, Scenario } from './grid/driver.ts';
import { gridDrivers } from './grid/drivers.ts';
import { aliasOf, type GridTarget, gridTargets } from './grid/targets.ts';
import { createWorld, type World } from './grid/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld(gridTargets);
});
afterAll(() => world.close());

/** A part of `npm run grid`: one client with all but most of its words for effort, some more with tools in a stream. */
function partOf(target: GridTarget, driver: Driver, turn: number): readonly Scenario[] {
  const all = scenariosOf(target, driver);
  if (turn % gridDrivers.length !== 0)
    return turn % (isLong ? 4 : 12) === 0 ? all.filter(({ name }) => name === 'tools streamed') : [];
  const efforts = [...new Set(all.map(({ effort }) => effort))].filter((effort) => effort !== null);
  const part = all.filter(({ effort }) => effort === null || effort === efforts[turn % efforts.length]);
  return isLong ? part : part.filter((_scenario, place) => (place + turn) % 2 === 0);
}

test.each(gridTargets.map((target, at) => [aliasOf(target), target, at] as const))(
  '%s gets what it takes, and clients what it said',
  async (_name, target, at) => {
    const cells: CellResult[] = [];
    for (const [place, driver] of gridDrivers.entries())
      for (const scenario of partOf(target, driver, at + place))
        cells.push(await runCell(world, target, driver, scenario));
    expect(cells.length).toBeGreaterThan(0);
    expect(cells.filter(({ verdict }) => verdict !== 'well' && verdict !== 'declared')).toEqual([]);
  },
);
