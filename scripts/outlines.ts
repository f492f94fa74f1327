/** Writes the outlines of the console, the commands, the API and of what databases are asked anew, as they are now: then read what changed. */
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const tests = [
  'tests/web/outlines.test.tsx',
  'tests/web/docs-search.test.ts',
  'tests/web/tables.test.ts',
  'tests/web/charts.test.tsx',
  'tests/web/pieces.test.tsx',
  'tests/web/presses/',
  'tests/cli/outlines.test.ts',
  'tests/cli/screens.test.ts',
  'tests/cli/local.test.ts',
  'tests/cli/commands.test.ts',
  'tests/http/outlines.test.ts',
  'tests/http/front.test.ts',
  'tests/engines/schema.test.ts',
  'tests/engines/node-talk.test.ts',
  'tests/engines/repositories.test.ts',
];
const child = Bun.spawn(
  [process.execPath, '--bun', 'node_modules/vitest/vitest.mjs', 'run', '--pool=threads', ...tests],
  { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, GATEWAY_OUTLINES: 'write' } },
);
process.exit(await child.exited);
