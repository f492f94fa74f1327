/** Runs the whole grid: every SDK in every dialect at every strict double. `--only TEXT` runs the cells whose name holds it; `--list` prints all that is not well. Ends with 1 when a cell is refused, lost without a word, or fails. */
import { type CellResult, runCell, scenariosOf, type Verdict } from '../../../tests/practice/grid/cell.ts';
import { gridDrivers } from '../../../tests/practice/grid/drivers.ts';
import { aliasOf, gridTargets } from '../../../tests/practice/grid/targets.ts';
import { createWorld } from '../../../tests/practice/grid/world.ts';

const after = (name: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? '' : (process.argv[at + 1] ?? '');
};
const only = after('--only');
const listed = process.argv.includes('--list');
const world = await createWorld(gridTargets);
const results: CellResult[] = [];
for (const target of gridTargets)
  for (const driver of gridDrivers)
    for (const scenario of scenariosOf(target, driver)) {
      if (!`${aliasOf(target)} ${driver.name} ${scenario.name}`.includes(only)) continue;
      results.push(await runCell(world, target, driver, scenario));
    }
await world.close();

const of = (verdict: Verdict) => results.filter((result) => result.verdict === verdict);
console.log(
  `${results.length} cells: ${(['well', 'declared', 'refused', 'lost', 'failed'] as const)
    .map((verdict) => `${verdict} ${of(verdict).length}`)
    .join(', ')}`,
);
const bad = [...of('refused'), ...of('lost'), ...of('failed')];
const causes = Map.groupBy(
  bad,
  ({ verdict, reason, target }) => `${verdict} | ${target.split('--')[0]} | ${reason.slice(0, 110)}`,
);
for (const [cause, cells] of [...causes].toSorted(([, a], [, b]) => b.length - a.length)) {
  const [first] = cells;
  console.log(`${cells.length}\t${cause}\t(${first?.target} ${first?.driver}, ${first?.scenario})`);
}
if (listed)
  for (const { verdict, target, driver, scenario, reason } of results)
    if (verdict !== 'well') console.log([verdict, target, driver, scenario, reason].join('\t'));
process.exit(bad.length === 0 ? 0 : 1);
