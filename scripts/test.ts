/** Every test that needs neither network nor browser. Ends with `N passed, N failed`. */
import { longTests, runChecks } from './checks.ts';

process.exit(
  await runChecks({
    tests: process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['tests'],
    exclude: longTests,
  }),
);
