/** Everything that must be true before a change is handed over: types, lint, generated documents, no circles, and the tests. `--static` leaves the tests out. Ends with `N passed, N failed`. */
import { longTests, runChecks, runStatic } from './checks.ts';
import { documentsAreFresh } from './docs.ts';
import { measureCode } from './house/measure.ts';

const fresh = documentsAreFresh();
console.log(
  `${fresh ? 'ok  ' : 'FAIL'} documents${fresh ? '' : ' are stale: node scripts/launch.mjs docs writes them'}`,
);
const { errors } = measureCode();
console.log([`${errors.length === 0 ? 'ok  ' : 'FAIL'} no circles between files`, ...errors].join('\n     '));
const found = [fresh, errors.length === 0, ...(await runStatic())];
const failed = found.filter((good) => !good).length;
console.log(`${found.length - failed} passed, ${failed} failed`);
const code = process.argv.includes('--static') ? 0 : await runChecks({ tests: ['tests'], exclude: longTests });
process.exit(failed === 0 ? code : 1);
