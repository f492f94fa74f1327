/** The tests of the console in a real browser, against the compiled executable, and of every control of its pages: `node scripts/launch.mjs test-browser [paths]`. With GATEWAY_SHOTS=1 pictures of pages are kept in screenshots/. */
import { pressTests, runChecks } from './checks.ts';

const given = process.argv.slice(2);
const tests = given.length > 0 ? given : ['tests/browser', pressTests];
process.exit(await runChecks({ tests, exclude: [], workers: 2 }));
