/**
 * Damaged input for everything that reads what others send: `node scripts/launch.mjs lab/fuzz/fuzz [--cases 20000] [--seed N] [target...]`.
 * A seed that finds something is printed and belongs into `tests/fuzz/seeds.json`, from where `npm test` runs it for ever.
 */
import { damageOf } from '../../../tests/fuzz/damage.ts';
import { targets } from '../../../tests/fuzz/targets.ts';
import { randomOf } from '../../../tests/support/random.ts';
import { flag } from '../prove/site.ts';

const args = process.argv.slice(2);
const cases = flag(args, '--cases', 20_000);
const first = flag(args, '--seed', Math.floor(Date.now() / 1000));
const selected = Object.entries(targets).filter(
  ([name], _, all) => args.includes(name) || !all.some(([other]) => args.includes(other)),
);
/** A case that takes so long hangs. */
const timeoutMs = 2000;
const maxLines = 5;

let failed = 0;
for (const [name, target] of selected) {
  const started = performance.now();
  let found = 0;
  let slowest = 0;
  for (let n = 0; n < cases; n++) {
    const seed = first + n;
    const startedAt = performance.now();
    try {
      await target(damageOf(randomOf(seed)));
    } catch (error) {
      found++;
      if (found <= maxLines)
        console.log(
          `${name} seed ${seed}: ${error instanceof Error ? error.stack?.split('\n').slice(0, 3).join(' ') : error}`,
        );
    }
    const ms = performance.now() - startedAt;
    slowest = Math.max(slowest, ms);
    if (ms > timeoutMs) console.log(`${name} seed ${seed}: ${ms.toFixed(0)} ms`);
  }
  failed += found;
  console.log(
    `${name}: ${cases} cases from ${first}, ${found} failed, slowest ${slowest.toFixed(1)} ms, ${((performance.now() - started) / 1000).toFixed(1)} s`,
  );
}
process.exit(failed === 0 ? 0 : 1);
