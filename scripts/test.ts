/** Every test that needs neither network nor browser. Ends with `N passed, N failed`. */
import { tmpdir } from 'node:os';
import { leftOut, longTests, runChecks } from './checks.ts';
import { fastFolder } from './servers/start.ts';

// Tests of what a disk keeps ask for one; all others put their files where no sync waits.
process.env.GATEWAY_TEST_DISK ??= tmpdir();
process.env.TMPDIR = fastFolder();
const named = process.argv.slice(2);
const others = leftOut(named);
for (const line of others) console.error(line);
if (others.length > 0) process.exit(1);
process.exit(await runChecks({ tests: named.length > 0 ? named : ['tests'], exclude: longTests }));
