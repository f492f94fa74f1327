/** Every test that needs neither network nor browser. Ends with `N passed, N failed`. */
import { tmpdir } from 'node:os';
import { longTests, runChecks } from './checks.ts';
import { fastFolder } from './servers/start.ts';

// Tests of what a disk keeps ask for one; all others put their files where no sync waits.
process.env.GATEWAY_TEST_DISK ??= tmpdir();
process.env.TMPDIR = fastFolder();
process.exit(
  await runChecks({
    tests: process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['tests'],
    exclude: longTests,
  }),
);
