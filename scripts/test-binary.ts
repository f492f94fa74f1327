/** The tests of the compiled executable, and of servers that are stopped, killed and damaged. */
import { runChecks } from './checks.ts';

process.exit(await runChecks({ tests: ['tests/binary', 'tests/storage'], exclude: [], testsOnly: true, workers: 2 }));
