/** The tests of the console in a real browser, against the compiled executable. */
import { runChecks } from './checks.ts';

process.exit(await runChecks({ tests: ['tests/browser'], exclude: [], workers: 2 }));
