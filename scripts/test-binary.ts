/** The tests of the compiled executable, of programs that are started, and of servers that are stopped, killed and damaged. */
import { runChecks } from './checks.ts';

const tests = ['tests/binary', 'tests/programs', 'tests/storage'];
process.exit(await runChecks({ tests, exclude: [], workers: 2 }));
