/** Everything that must be true before a change is handed over: types, lint, tests, architecture, generated documents. */
import { longTests, runChecks } from './checks.ts';
import { documentsAreFresh } from './docs.ts';

const fresh = documentsAreFresh();
console.log(
  `${fresh ? 'ok  ' : 'FAIL'} documents${fresh ? '' : ' are stale: node scripts/launch.mjs docs writes them'}`,
);
const code = await runChecks({ tests: ['tests'], exclude: longTests });
process.exit(fresh ? code : 1);
