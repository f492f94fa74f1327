/** The practice upstreams, the gateways of ours that are measured in front of them, and the floors. */
import { childVerb } from './child.ts';
import type { FloorKind } from './floor.ts';
import { cores } from './machine.ts';
import { command, freePort, ownProgram, type Program, start, waitForResponse } from './process.ts';

/** `fast` gives 64 chunks in one go, `paced` one chunk a millisecond, `slow` keeps a stream open for 5 seconds; `translated` is `fast` behind a channel that speaks another dialect. */
export type UpstreamName = 'fast' | 'paced' | 'slow' | 'translated';

export interface Upstreams {
  readonly ports: Readonly<Record<UpstreamName, number>>;
  readonly pids: Readonly<Record<UpstreamName, number>>;
}

/** What a stream of the slow upstream takes by itself: 40 chunks at 8 a second. */
export const slowStreamSeconds = 5;

/** @param firstPort of three in a row, for gateways that were set up before; null = any. */
export async function startUpstreams(firstPort: number | null): Promise<Upstreams> {
  const begin = async (index: number, args: readonly string[]) => {
    const port = firstPort === null ? freePort() : firstPort + index;
    const { pid } = start(cores.around, [...ownProgram, 'mock-upstream', '--port', String(port), ...args]);
    await waitForResponse(`http://127.0.0.1:${port}/v1/models`);
    return { port, pid };
  };
  const fast = await begin(0, ['--chunks', '64']);
  const paced = await begin(1, ['--chunks', '64', '--tokens-per-second', '1000']);
  const slow = await begin(2, ['--chunks', '40', '--tokens-per-second', '8']);
  return {
    ports: { fast: fast.port, paced: paced.port, slow: slow.port, translated: fast.port },
    pids: { fast: fast.pid, paced: paced.pid, slow: slow.pid, translated: fast.pid },
  };
}

/** Model that each upstream answers to. */
export const models: Readonly<Record<UpstreamName, string>> = {
  fast: 'practice-small',
  paced: 'practice-large',
  slow: 'practice-slow',
  translated: 'practice-translated',
};

/** A data folder and the build that works on it. */
export interface Site {
  readonly program: Program;
  readonly dataDir: string;
  readonly token: string;
}

export interface Running {
  readonly site: Site;
  readonly child: Bun.Subprocess;
  readonly port: number;
  readonly readyMs: number;
}

/** A site with a channel for each upstream and a token without limit. */
export async function setUp(program: Program, dataDir: string, upstreams: Upstreams): Promise<Site> {
  const run = (args: readonly string[], input?: string) => command(program, dataDir, args, input);
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const name of ['fast', 'paced', 'slow', 'translated'] as const) {
    const type = name === 'translated' ? 'anthropic' : 'practice';
    const address = ['--base-url', `http://127.0.0.1:${upstreams.ports[name]}`, '--models', models[name]];
    await run(['channel', 'add', '--type', type, '--name', name, ...address, '--key-stdin'], 'k');
  }
  const token = await run(['token', 'create', '--name', 'bench', '--quota', 'unlimited', '-q']);
  return { program, dataDir, token };
}

/** @param env more settings. */
export async function serve(site: Site, env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const port = freePort();
  const child = start(cores.measured, [...site.program, 'serve', '--port', String(port)], {
    GATEWAY_DATA_DIR: site.dataDir,
    // The load is higher than it can serve, on purpose: load shedding is off so that every request is measured.
    GATEWAY_SHED_DELAY_MS: '60000',
    ...env,
  });
  const readyMs = await waitForResponse(`http://127.0.0.1:${port}/api/status`, (status) => status === 200);
  return { site, child, port, readyMs };
}

export interface Floor {
  readonly kind: FloorKind;
  readonly child: Bun.Subprocess;
  readonly ports: Upstreams['ports'];
}

/** Each port of a floor passes everything on to one upstream. */
export async function startFloor(upstreams: Upstreams, kind: FloorKind = 'fetch'): Promise<Floor> {
  const names = ['fast', 'paced', 'slow'] as const;
  const ports = { fast: freePort(), paced: freePort(), slow: freePort() };
  const pairs = names.map((name) => `${ports[name]}:${upstreams.ports[name]}`);
  const child = start(cores.measured, [...ownProgram, childVerb, 'floor', kind, ...pairs], {
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  });
  await waitForResponse(`http://127.0.0.1:${ports.fast}/v1/models`);
  return { kind, child, ports: { ...ports, translated: ports.fast } };
}
