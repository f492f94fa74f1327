/** The tests of everything that keeps something, over PostgreSQL, and those of PostgreSQL alone, against a real server: `node scripts/launch.mjs test-postgres [paths]`. Debian's packages postgresql and redis-server have to be installed. */
import { runChecks } from './checks.ts';
import { postgresPrograms, startPostgres } from './servers/postgres.ts';
import { redisInstalled, startRedis } from './servers/redis.ts';

const bin = postgresPrograms();
if (bin === null) {
  console.log('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const server = await startPostgres(bin);
const redis = redisInstalled() ? await startRedis() : null;
const end = async () => {
  server.remove();
  await redis?.stop();
};
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().finally(() => process.exit(130)));
try {
  process.env.GATEWAY_TEST_DATABASE = server.url;
  process.env.GATEWAY_TEST_CERTIFICATE = server.certificate;
  if (redis !== null) process.env.GATEWAY_TEST_REDIS = redis.url;
  const given = process.argv.slice(2);
  const usual = ['tests/engines', 'tests/ledger', 'tests/domain', 'tests/http', 'tests/incidents', 'tests/postgres'];
  const tests = given.length > 0 ? given : usual;
  process.exitCode = await runChecks({ tests, exclude: [], workers: 2 });
} finally {
  await end();
}
