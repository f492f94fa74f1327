/** What a gateway needs besides CPU: memory idle, loaded and with many streams open, and the time of a start. */
import { join } from 'node:path';
import { type Memory, residentKb } from './machine.ts';
import { command, end, freePort, load, type Program, start, waitForResponse } from './process.ts';
import { models, type Running, type Site, serve } from './site.ts';
import { median } from './stats.ts';
import { bodyOf } from './targets.ts';

export interface OpenStreams {
  readonly count: number;
  readonly stuck: number;
  /** null = this machine does not report it. */
  readonly kbEach: number | null;
  /** Milliseconds. */
  readonly p99: number;
}

/** From the beginning of the process. */
export interface ReadyTimes {
  readonly relayMs: number;
  readonly apiMs: number;
}

export interface StartTimes {
  /** Milliseconds. */
  readonly version: number;
  readonly tokenList: number;
  readonly fresh: ReadyTimes;
  readonly used: ReadyTimes;
}

export interface Extras {
  readonly idle: Memory | null;
  readonly loaded: Memory | null;
  readonly streams: OpenStreams;
  readonly times: StartTimes;
}

export interface ExtraOptions {
  /** Streams open at once. */
  readonly streams: number;
  /** Starts of each command. */
  readonly starts: number;
}

const path = '/v1/chat/completions';
const sampleMs = 50;
/** The slow upstream needs five seconds for a stream. */
const maxSeconds = 30;

/** Many streams open at once in a process that has done little else, so that no earlier growth hides what they need. */
async function openStreams({ site, child, port }: Running, count: number): Promise<OpenStreams> {
  const order = { port, path, token: site.token, headers: '' };
  await load({ ...order, body: bodyOf(models.fast, true), connections: 64, seconds: 1, once: false });
  const before = residentKb(child.pid);
  let maxKb = before ?? 0;
  const watch = setInterval(() => {
    maxKb = Math.max(maxKb, residentKb(child.pid) ?? 0);
  }, sampleMs);
  const slow = bodyOf(models.slow, true);
  const result = await load({ ...order, body: slow, connections: count, seconds: maxSeconds, once: true });
  clearInterval(watch);
  return {
    count,
    stuck: count - result.good,
    kbEach: before === null ? null : (maxKb - before) / count,
    p99: result.p99,
  };
}

/** A start that ends cleanly once it serves, on whatever cores there are. */
async function startOnce(program: Program, dataDir: string): Promise<ReadyTimes> {
  const port = freePort();
  const begun = performance.now();
  const child = start(null, [...program, 'serve', '--port', String(port)], { GATEWAY_DATA_DIR: dataDir });
  const answered = async (path: string): Promise<number> => {
    await waitForResponse(`http://127.0.0.1:${port}${path}`, (status) => status === 200);
    return performance.now() - begun;
  };
  const relayMs = await answered('/readyz');
  const apiMs = await answered('/api/status');
  await end(child);
  return { relayMs, apiMs };
}

async function startTimes({ program, dataDir }: Site, starts: number): Promise<StartTimes> {
  const commandTime = async (args: readonly string[]): Promise<number> => {
    const taken: number[] = [];
    for (let i = 0; i < starts; i++) {
      const at = performance.now();
      await command(program, dataDir, args);
      taken.push(performance.now() - at);
    }
    return median(taken);
  };
  const readyTimes = async (folderOf: (round: number) => string): Promise<ReadyTimes> => {
    const taken: ReadyTimes[] = [];
    for (let i = 0; i < starts; i++) taken.push(await startOnce(program, folderOf(i)));
    return { relayMs: median(taken.map(({ relayMs }) => relayMs)), apiMs: median(taken.map(({ apiMs }) => apiMs)) };
  };
  return {
    version: await commandTime(['--version']),
    tokenList: await commandTime(['token', 'list']),
    fresh: await readyTimes((round) => join(dataDir, '..', `fresh-${round}`)),
    used: await readyTimes(() => dataDir),
  };
}

/** @param site no server is running on it at the moment. */
export async function measureExtras(
  site: Site,
  before: Pick<Extras, 'idle' | 'loaded'>,
  options: ExtraOptions,
  onProgress: (what: string) => void,
): Promise<Extras> {
  onProgress(`${options.streams} open streams`);
  const again = await serve(site);
  const streams = await openStreams(again, options.streams);
  await end(again.child);
  onProgress('start times');
  return { ...before, streams, times: await startTimes(site, options.starts) };
}
