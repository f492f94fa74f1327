/** A gateway of another house to compare with, installed beside the build with install scripts off. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const name = '@portkey-ai/gateway';
const timeoutMs = 15_000;

export interface Comparison {
  /** Flags for `gateway bench`. */
  readonly flags: readonly string[];
  stop(): Promise<void>;
}

const freePort = (): number => {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = probe.port ?? 0;
  void probe.stop(true);
  return port;
};

function install(root: string): string | null {
  const home = join(root, '.cache', 'bench');
  const entry = join(home, 'node_modules', name, 'build/start-server.js');
  if (existsSync(entry)) return entry;
  mkdirSync(home, { recursive: true });
  const dependencies = { [name]: '1.15.2', hono: '4.9.7', '@hono/node-server': '1.13.5', '@hono/node-ws': '1.2.0' };
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }));
  Bun.spawnSync(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], { cwd: home });
  return existsSync(entry) ? entry : null;
}

async function answers(url: string): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (performance.now() < until) {
    const ok = await fetch(url).then(
      () => true,
      () => false,
    );
    if (ok) return true;
    await Bun.sleep(20);
  }
  return false;
}

/** @returns null when that was not possible. */
export async function startComparison(root: string): Promise<Comparison | null> {
  const entry = install(root);
  const node = Bun.which('node');
  if (entry === null || node === null) return null;
  const port = freePort();
  // Three in a row, which the bench opens later.
  const upstream = freePort();
  const pinned = Bun.which('taskset') === null ? [] : ['taskset', '-c', '0'];
  const child = Bun.spawn([...pinned, node, entry, `--port=${port}`, '--headless'], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await child.exited;
  };
  if (!(await answers(`http://127.0.0.1:${port}/`))) {
    await stop();
    return null;
  }
  const headers = ['x-portkey-provider: openai', `x-portkey-custom-host: http://127.0.0.1:${upstream}/v1`];
  return {
    flags: [
      '--upstream-port',
      String(upstream),
      '--against',
      `${name}=http://127.0.0.1:${port}/v1,sk-x,practice-small,${child.pid}`,
      ...headers.flatMap((header) => ['--against-header', `${name}=${header}`]),
    ],
    stop,
  };
}
