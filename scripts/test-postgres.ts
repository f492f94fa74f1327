/** The tests of everything that keeps something, over PostgreSQL, and those of PostgreSQL alone, against a real server: `node scripts/launch.mjs test-postgres [paths]`. Debian's packages postgresql and redis-server have to be installed. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runChecks } from './checks.ts';
import { importsOf } from './house/imports.ts';
import { startDatabases } from './servers/start.ts';

const root = resolve(import.meta.dirname, '..');

/**
 * Which tests run again over PostgreSQL: those of the folders below that open the database a run is asked for
 * (`tests/support/engines.ts`, by whatever way they import it), except where the database decides nothing of what
 * they assert. `npm test` runs every one of them over SQLite.
 */
const folders = ['tests/engines', 'tests/ledger', 'tests/domain', 'tests/http', 'tests/incidents', 'tests/postgres'];
const databaseChoice = 'tests/support/engines.ts';
const withoutDatabase: readonly string[] = [
  // Rights and the documents of the API come from tables in the code; `catalogue` calls every endpoint once over PostgreSQL.
  'tests/http/access-tokens.test.ts',
  'tests/http/option-rights.test.ts',
  'tests/http/openapi.test.ts',
  // Paths, headers and bytes of a connection.
  'tests/http/client-chaos.test.ts',
  'tests/http/cross-origin.test.ts',
  'tests/http/cut-streams.test.ts',
  'tests/http/edge.test.ts',
  'tests/http/forgiven-paths.test.ts',
  'tests/http/paths.test.ts',
  'tests/http/probes.test.ts',
  'tests/http/turned-away.test.ts',
  // What goes to an upstream, to a collector of traces, or to another address.
  'tests/http/model-takes.test.ts',
  'tests/http/practice.test.ts',
  'tests/http/traces.test.ts',
  'tests/incidents/outside.test.ts',
];

const reached = new Map<string, boolean>();

/** @returns whether the file or one that it imports opens the database that the run is asked for. */
function usesChoice(path: string): boolean {
  const known = reached.get(path);
  if (known !== undefined) return known;
  reached.set(path, false);
  const found =
    path === databaseChoice ||
    importsOf(path, readFileSync(join(root, path), 'utf8'))
      .filter((target) => target.startsWith('tests/') && existsSync(join(root, target)))
      .some(usesChoice);
  reached.set(path, found);
  return found;
}

/** @throws Error when a file that is left out is not there. */
function selectedTests(): string[] {
  const gone = withoutDatabase.filter((path) => !existsSync(join(root, path)));
  if (gone.length > 0) throw new Error(`left out, and not there: ${gone.join(', ')}`);
  return folders
    .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: root })])
    .filter((path) => path.startsWith('tests/postgres/') || usesChoice(path))
    .filter((path) => !withoutDatabase.includes(path))
    .sort();
}

const args = process.argv.slice(2);
const tests = args.length > 0 ? args : selectedTests();
const end = await startDatabases();
if (end === null) {
  console.log('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  console.log('0 passed, 1 failed');
  process.exit(1);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().finally(() => process.exit(130)));
try {
  // Nodes that wait for each other: half of the time no core works. With more, waits of two seconds for money come to their end.
  process.exitCode = await runChecks({ tests, exclude: [], workers: 3 });
} finally {
  await end();
}
