/** The tests of the compiled executable. */
import { runChecks } from './checks.ts';

process.exit(await runChecks({ tests: ['tests/binary'], exclude: [], testsOnly: true, workers: 2 }));
