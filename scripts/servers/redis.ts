/** A Redis server of one's own, from the machine's packages: no disk, a free port. */
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { freePort } from '../../cli/bench/process.ts';

export interface RedisServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const program = '/usr/bin/redis-server';
export const redisInstalled = (): boolean => existsSync(program);

const isListening = (port: number): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => resolve(true));
  socket.on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
};

/**
 * Resolves when it answers.
 * @param at port to listen on, else one that is free.
 * @throws Error when it ends instead.
 */
export async function startRedis(at?: number): Promise<RedisServer> {
  const port = at ?? freePort();
  const child = Bun.spawn(
    [program, '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      stdio: ['ignore', 'ignore', 'ignore'],
    },
  );
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    await Bun.sleep(10);
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
