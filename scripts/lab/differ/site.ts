/** One side of the comparison: a build serving a fresh data folder that was set up with one and the same document. */
import { Database } from 'bun:sqlite';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../../cli/bench/process.ts';

/** Keys with all rights, without `sk-`; many, for what is written down of the refusals of one key is bounded. */
const mainTokens = Array.from({ length: 64 }, (_, index) => `differ0main${String(index).padStart(37, '0')}`);
export const mainToken = (id: number): string => mainTokens[id % mainTokens.length] ?? '';

/** Keys with bounds. */
export const tokens = {
  vip: 'differ0vip00000000000000000000000000000000000000',
  poor: 'differ0poor0000000000000000000000000000000000000',
  narrow: 'differ0narrow00000000000000000000000000000000000',
} as const;
export type TokenName = keyof typeof tokens;

export interface Channel {
  readonly name: string;
  readonly type: string;
  readonly key: string;
  readonly models: readonly string[];
  readonly mapping: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly more: Readonly<Record<string, unknown>>;
}

export interface SitePlan {
  readonly channels: readonly Channel[];
  readonly ratios: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly options: Readonly<Record<string, unknown>>;
  /** Models that the narrow token may use. */
  readonly narrow: readonly string[];
}

export interface Side {
  readonly name: string;
  readonly url: string;
  /** Rows of the log and of the ledger by request id. */
  rows(): { readonly logs: ReadonlyMap<string, Row>; readonly postings: ReadonlyMap<string, readonly Row[]> };
  /** What the ledger's own check finds; '' = nothing. */
  stop(): Promise<void>;
  /** What the program has written since its start. */
  output(): Promise<string>;
}
export type Row = Readonly<Record<string, unknown>>;

type Command = readonly string[];

/** @param build an executable, or a checkout with its packages. */
export function commandOf(build: string): Command {
  const path = resolve(build);
  if (!existsSync(path)) throw new Error(`there is no ${path}`);
  return statSync(path).isDirectory() ? [process.execPath, join(path, 'scripts', 'gateway.ts')] : [path];
}

function documentOf(plan: SitePlan, upstream: string) {
  const everywhere = { owner: 'root', quota: 'unlimited' };
  return {
    version: 1,
    options: plan.options,
    groups: { default: 1.7, vip: 0.5 },
    ratios: plan.ratios,
    channels: plan.channels.map(({ mapping, more, ...channel }) => ({
      ...channel,
      base_url: upstream,
      group: ['default', 'vip'],
      ...(Object.keys(mapping).length > 0 ? { model_mapping: mapping } : {}),
      ...more,
    })),
    tokens: [
      ...mainTokens.map((key, index) => ({ name: `main ${index}`, key, ...everywhere })),
      { name: 'vip', key: tokens.vip, ...everywhere, group: 'vip' },
      { name: 'poor', key: tokens.poor, ...everywhere, quota: 1 },
      { name: 'narrow', key: tokens.narrow, ...everywhere, models: plan.narrow },
    ],
  };
}

/** @param upstream base address of the scripted upstream of this side. */
export async function openSide(name: string, build: string, plan: SitePlan, upstream: string): Promise<Side> {
  const command = commandOf(build);
  const folder = mkdtempSync(join(tmpdir(), `gateway-differ-${name}-`));
  const dataDir = join(folder, 'data');
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('GATEWAY_'))),
    GATEWAY_DATA_DIR: dataDir,
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  };
  const cwd = command.length > 1 ? resolve(build) : folder;
  const run = async (args: readonly string[], input = ''): Promise<string> => {
    const child = Bun.spawn([...command, ...args], {
      cwd,
      env,
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if ((await child.exited) !== 0)
      throw new Error(`${name}: gateway ${args.join(' ')} failed: ${error.slice(0, 2000)}`);
    return out;
  };
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'external'], 'password1');
  const file = join(folder, 'site.yaml');
  writeFileSync(file, JSON.stringify(documentOf(plan, upstream)));
  await run(['apply', '-f', file, '-y', '-q', '--timeout', '300s']);
  await run(['user', 'quota', 'add', 'root', '900000000000000', '-y']);
  const port = freePort();
  const log = join(folder, 'log.txt');
  const child = Bun.spawn([...command, 'serve', '--port', String(port), '--relays', '1', '--grace', '2'], {
    cwd,
    env,
    stdin: 'ignore',
    stdout: Bun.file(log),
    stderr: Bun.file(`${log}.err`),
  });
  const url = `http://127.0.0.1:${port}`;
  for (let turn = 0; ; turn++) {
    const ready = await fetch(`${url}/readyz`).catch(() => null);
    if (ready?.status === 200) break;
    if (turn > 300 || child.exitCode !== null)
      throw new Error(`${name} does not start: ${await Bun.file(`${log}.err`).text()}`);
    await Bun.sleep(100);
  }
  return {
    name,
    url,
    rows() {
      const database = new Database(join(dataDir, 'gateway.db'), { readonly: true });
      const logs = new Map<string, Row>();
      for (const row of database.query('SELECT * FROM logs WHERE request_id IS NOT NULL').all() as Row[])
        logs.set(String(row.request_id), row);
      const postings = new Map<string, Row[]>();
      for (const row of database.query('SELECT * FROM postings').all() as Row[]) {
        const id = /20\d{15}[0-9a-z]{8}/.exec(String(row.ref))?.[0];
        if (id !== undefined) postings.set(id, [...(postings.get(id) ?? []), row]);
      }
      database.close();
      return { logs, postings };
    },
    output: async () => `${await Bun.file(log).text()}${await Bun.file(`${log}.err`).text()}`,
    async stop() {
      child.kill('SIGTERM');
      const ended = await Promise.race([child.exited, Bun.sleep(10_000).then(() => null)]);
      if (ended === null) child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
