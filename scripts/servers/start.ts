/** PostgreSQL and Redis for tests, named in their environment. */
import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { postgresPrograms, startPostgres } from './postgres.ts';
import { redisInstalled, startRedis } from './redis.ts';

const memory = '/dev/shm';
const neededBytes = 2 ** 31;

/** A folder in memory, where the machine has one that is large enough: on a disk, making and removing a database for each test takes longer than many a test. */
export function fastFolder(): string {
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= neededBytes ? memory : tmpdir();
}

/** @returns what stops them; null = PostgreSQL is not installed. */
export async function startDatabases(): Promise<(() => Promise<void>) | null> {
  const bin = postgresPrograms();
  if (bin === null) return null;
  const server = await startPostgres(bin, '', fastFolder());
  const redis = redisInstalled() ? await startRedis() : null;
  process.env.GATEWAY_TEST_DATABASE = server.url;
  process.env.GATEWAY_TEST_CERTIFICATE = server.certificate;
  if (redis !== null) process.env.GATEWAY_TEST_REDIS = redis.url;
  return async () => {
    server.remove();
    await redis?.stop();
  };
}
