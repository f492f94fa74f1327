/** The tests of everything that keeps something, over PostgreSQL, and those of PostgreSQL alone, against a real server: `node scripts/launch.mjs test-postgres [paths]`. Debian's packages postgresql and redis-server have to be installed. */
import { runChecks } from './checks.ts';
import { startDatabases } from './servers/databases.ts';

const end = await startDatabases();
if (end === null) {
  console.log('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  console.log('0 passed, 1 failed');
  process.exit(1);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().finally(() => process.exit(130)));
try {
  const given = process.argv.slice(2);
  const defaultPaths = [
    'tests/engines',
    'tests/ledger',
    'tests/domain',
    'tests/http',
    'tests/incidents',
    'tests/postgres',
  ];
  const tests = given.length > 0 ? given : defaultPaths;
  process.exitCode = await runChecks({ tests, exclude: [], workers: 2 });
} finally {
  await end();
}
