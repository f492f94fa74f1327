/** PostgreSQL and Redis for tests, named in their environment. */
import { postgresPrograms, startPostgres } from './postgres.ts';
import { redisInstalled, startRedis } from './redis.ts';

/** @returns what stops them; null = PostgreSQL is not installed. */
export async function startDatabases(): Promise<(() => Promise<void>) | null> {
  const bin = postgresPrograms();
  if (bin === null) return null;
  const server = await startPostgres(bin);
  const redis = redisInstalled() ? await startRedis() : null;
  process.env.GATEWAY_TEST_DATABASE = server.url;
  process.env.GATEWAY_TEST_CERTIFICATE = server.certificate;
  if (redis !== null) process.env.GATEWAY_TEST_REDIS = redis.url;
  return async () => {
    server.remove();
    await redis?.stop();
  };
}
