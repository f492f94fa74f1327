/** A gateway of its own for a measurement: set up, with channels, a key and a price, on a port of the loopback. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { command, freePort, ownProgram, type Program, start, waitForResponse } from '../../../cli/bench/process.ts';
import type { Goal } from '../bench/goal.ts';

export interface ChannelOrder {
  readonly name: string;
  readonly url: string;
  readonly models: string;
}

export interface ProbeSite {
  readonly port: number;
  readonly url: string;
  readonly token: string;
  readonly dataDir: string;
  /** Of the process that serves now. */
  pid(): number;
  /** A command of the same data folder. */
  run(args: readonly string[]): Promise<string>;
  /** Starts it again on the same port and data. */
  again(): Promise<void>;
  /** @returns the exit code. */
  ended(): Promise<number>;
  signal(name: NodeJS.Signals): void;
  remove(): void;
}

const binary = resolve(import.meta.dirname, '..', '..', '..', 'dist', 'gateway');
export const siteProgram: Program = existsSync(binary) ? [binary] : ownProgram;

/** @param core that it is kept on; null = wherever there is room. @param prefix what starts the server, as a shell that limits its memory. */
export async function openSite(
  channels: readonly ChannelOrder[],
  serveFlags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  core: number | null = null,
  prefix: readonly string[] = [],
): Promise<ProbeSite> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-proof-'));
  const run = (args: readonly string[], input?: string) => command(siteProgram, dataDir, args, input);
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const { name, url, models } of channels) {
    const address = ['--base-url', url, '--models', models];
    await run(['channel', 'add', '--type', 'practice', '--name', name, ...address, '--key-stdin'], 'k');
  }
  const models = [...new Set(channels.flatMap((channel) => channel.models.split(',')))];
  await run(['option', 'set', `ModelRatio=${JSON.stringify(Object.fromEntries(models.map((model) => [model, 1])))}`]);
  const token = await run(['token', 'create', '--name', 'proof', '--quota', 'unlimited', '-q']);
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const begin = async () => {
    const serve = [...prefix, ...siteProgram, 'serve', '--port', String(port), ...serveFlags];
    const child = start(core, serve, { GATEWAY_DATA_DIR: dataDir, ...env });
    await waitForResponse(`${url}/readyz`, (status) => status === 200);
    return child;
  };
  let child = await begin();
  return {
    port,
    url,
    token: token.trim(),
    dataDir,
    pid: () => child.pid,
    run,
    async again() {
      child = await begin();
    },
    ended: () => child.exited,
    signal: (name) => child.kill(name),
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}

export const maxGoal = (name: string, value: number, limit: number, unit: string): Goal => ({
  name,
  value,
  limit,
  unit,
  direction: 'at most',
});
export const minGoal = (name: string, value: number, limit: number, unit: string): Goal => ({
  ...maxGoal(name, value, limit, unit),
  direction: 'at least',
});

export const share = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
};

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
export const threadsOf = (pid: number): number =>
  Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

export const flag = (args: readonly string[], name: string, fallback: number): number => {
  const at = args.indexOf(name);
  const value = Number(args[at + 1]);
  return at < 0 || !Number.isFinite(value) || value <= 0 ? fallback : value;
};
