/** Seeded cases as often as it takes to trust them; `npm test` tries fewer of each. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { longTests, runChecks } from './checks.ts';

const root = resolve(import.meta.dirname, '..');
const seeded = [...new Bun.Glob('tests/**/*.test.ts').scanSync({ cwd: root })].filter((path) =>
  readFileSync(join(root, path), 'utf8').includes("support/often.ts'"),
);
process.env.GATEWAY_LONG = '1';
process.exit(await runChecks({ tests: seeded.sort(), exclude: longTests }));
