/** Everything that must be true before a change is handed over: types, lint, tests, architecture, sizes, generated documents. */
import { longTests, runChecks } from './checks.ts';
import { documentsAreFresh } from './docs.ts';
import { measureHouse } from './house/measure.ts';

const fresh = documentsAreFresh();
console.log(
  `${fresh ? 'ok  ' : 'FAIL'} documents${fresh ? '' : ' are stale: node scripts/launch.mjs docs writes them'}`,
);
const { faults } = measureHouse();
console.log(
  [faults.length === 0 ? 'ok   sizes' : `FAIL sizes: ${faults.length} beyond the limits`, ...faults].join('\n     '),
);
const code = await runChecks({ tests: ['tests'], exclude: longTests });
process.exit(fresh && faults.length === 0 ? code : 1);
