/** A Redis server of one's own, from the machine's packages: no disk, a free port. */
import { existsSync } from 'node:fs';
import { freePort } from './postgres.ts';

export interface RedisServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const program = '/usr/bin/redis-server';
export const redisInstalled = (): boolean => existsSync(program);

/** @param at port to listen on, else one that is free. */
export async function startRedis(at?: number): Promise<RedisServer> {
  const port = at ?? (await freePort());
  const child = Bun.spawn(
    [program, '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      stdio: ['ignore', 'ignore', 'ignore'],
    },
  );
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
