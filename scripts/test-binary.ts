/** The tests of the compiled executable, of programs that are started, and of servers that are stopped, killed and damaged: `node scripts/launch.mjs test-binary [paths]`. */
import { resolve } from 'node:path';
import { runChecks } from './checks.ts';

process.env.GATEWAY_TEST_PROGRAM ??= resolve(import.meta.dirname, '../dist/gateway');
const args = process.argv.slice(2);
const tests = args.length > 0 ? args : ['tests/binary', 'tests/programs', 'tests/storage'];
// They wait for programs more than they compute: with two, a quiet machine took as long as one that is busy.
process.exit(await runChecks({ tests, exclude: [], workers: 3 }));
