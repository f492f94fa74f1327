/** The gateway under test, set up through its own commands, and the gateway it is compared with. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { answers, cores, freePort, start } from './process.ts';

const root = resolve(import.meta.dirname, '../..');
const binary = join(root, 'dist', 'gateway');
export const isCompiled = existsSync(binary);
/** What is typed before a verb. */
export type Program = readonly string[];
export const gateway: Program = isCompiled ? [binary] : [process.execPath, join(root, 'cli', 'main.ts')];

/** A data folder and the build that works on it. */
export interface Site {
  readonly program: Program;
  readonly dataDir: string;
}

/** @throws Error with what the command wrote when it fails. */
export async function command(site: Site, args: readonly string[], input = ''): Promise<string> {
  const child = Bun.spawn([...site.program, ...args], {
    env: { ...process.env, GATEWAY_DATA_DIR: site.dataDir },
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`gateway ${args.join(' ')}: ${err}`);
  return out.trim();
}

type UpstreamName = 'fast' | 'paced' | 'slow' | 'told';

export interface Upstreams {
  readonly ports: Readonly<Record<UpstreamName, number>>;
  readonly pids: Readonly<Record<UpstreamName, number>>;
}

/** `fast` gives 64 chunks in one go, `paced` one chunk a millisecond, `slow` keeps a stream open for 5 seconds; `told` is `fast` behind a channel that speaks another dialect. */
export async function startUpstreams(): Promise<Upstreams> {
  const begin = async (args: readonly string[]) => {
    const port = freePort();
    const { pid } = start(cores.around, [...gateway, 'mock-upstream', '--port', String(port), ...args]);
    await answers(`http://127.0.0.1:${port}/v1/models`);
    return { port, pid };
  };
  const fast = await begin(['--chunks', '64']);
  const paced = await begin(['--chunks', '64', '--tokens-per-second', '1000']);
  const slow = await begin(['--chunks', '40', '--tokens-per-second', '8']);
  return {
    ports: { fast: fast.port, paced: paced.port, slow: slow.port, told: fast.port },
    pids: { fast: fast.pid, paced: paced.pid, slow: slow.pid, told: fast.pid },
  };
}

/** Model that each upstream answers to. */
export const models = {
  fast: 'practice-small',
  paced: 'practice-large',
  slow: 'practice-slow',
  told: 'practice-told',
} as const;

export interface Running {
  readonly site: Site;
  readonly child: Bun.Subprocess;
  readonly port: number;
  readonly token: string;
  readonly readyMs: number;
}

/** 1 = passing on alone, 2 = with keys and routing, 3 = everything. */
export type Tier = 1 | 2 | 3;

/** @returns the key of a token without limit. */
export async function setUp(site: Site, upstreams: Upstreams): Promise<string> {
  await command(site, ['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const name of ['fast', 'paced', 'slow', 'told'] as const) {
    const type = name === 'told' ? 'anthropic' : 'practice';
    const address = ['--base-url', `http://127.0.0.1:${upstreams.ports[name]}`, '--models', models[name]];
    await command(site, ['channel', 'add', '--type', type, '--name', name, ...address, '--key-stdin'], 'k');
  }
  return command(site, ['token', 'create', '--name', 'bench', '--quota', 'unlimited', '-q']);
}

export async function serve(site: Site, token: string, tier: Tier): Promise<Running> {
  const port = freePort();
  const child = start(cores.measured, [...site.program, 'serve', '--port', String(port)], {
    GATEWAY_DATA_DIR: site.dataDir,
    ...(tier === 3 ? {} : { GATEWAY_BENCH_TIER: String(tier) }),
  });
  const readyMs = await answers(`http://127.0.0.1:${port}/api/status`, (status) => status === 200);
  return { site, child, port, token, readyMs };
}

/** The least a relay can be in this runtime: each port passes everything on to one upstream. */
export async function startFloor(upstreams: Upstreams): Promise<{ child: Bun.Subprocess; ports: Upstreams['ports'] }> {
  const names = ['fast', 'paced', 'slow'] as const;
  const ports = { fast: freePort(), paced: freePort(), slow: freePort() };
  const pairs = names.map((name) => `${ports[name]}:${upstreams.ports[name]}`);
  const child = start(cores.measured, [process.execPath, join(import.meta.dirname, 'floor.ts'), ...pairs], {
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  });
  await answers(`http://127.0.0.1:${ports.fast}/v1/models`);
  return { child, ports: { ...ports, told: ports.fast } };
}

/** Installs the comparison beside the build, with install scripts off. @returns null when that was not possible. */
export async function startComparison(): Promise<{ child: Bun.Subprocess; port: number } | null> {
  const home = join(root, '.cache', 'bench');
  const entry = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(entry)) {
    mkdirSync(home, { recursive: true });
    const dependencies = {
      '@portkey-ai/gateway': '1.15.2',
      hono: '4.9.7',
      '@hono/node-server': '1.13.5',
      '@hono/node-ws': '1.2.0',
    };
    writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }));
    Bun.spawnSync(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], { cwd: home });
    if (!existsSync(entry)) return null;
  }
  const port = freePort();
  const child = start(cores.measured, ['node', entry, `--port=${port}`, '--headless'], { NODE_ENV: 'production' });
  await answers(`http://127.0.0.1:${port}/`);
  return { child, port };
}
