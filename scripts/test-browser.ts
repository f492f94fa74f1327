/** The tests of the console in a real browser, against the compiled executable: `node scripts/launch.mjs test-browser [paths]`. */
import { runChecks } from './checks.ts';

const given = process.argv.slice(2);
const tests = given.length > 0 ? given : ['tests/browser'];
process.exit(await runChecks({ tests, exclude: [], workers: 2 }));
