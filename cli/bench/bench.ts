/** The whole measurement in a folder of its own, from practice upstreams to goals; nothing is left behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rival } from './comparison.ts';
import { type ExtraOptions, type Extras, measureExtras } from './extras.ts';
import { type Goal, goalsOf, timesFloor, verdictOf } from './goal.ts';
import { canPin, canRead, memoryOf } from './machine.ts';
import { measureAll, type Plan, sampling } from './measure.ts';
import { command, end, endAll, isCompiled, killAll, ownProgram } from './process.ts';
import { type Floor, type Running, serve, setUp, startFloor, startUpstreams, type Upstreams } from './site.ts';
import type { Table } from './stats.ts';
import { subjectNames, subjectsOf } from './targets.ts';

export interface BenchOrder extends Plan, ExtraOptions {
  /** An older build, null = none. */
  readonly before: string | null;
  readonly rivals: readonly Rival[];
  /** The upstream port of the practice upstreams, null = any. */
  readonly upstreamPort: number | null;
  /** Memory and starts too. */
  readonly extras: boolean;
}

export interface Bench {
  readonly compiled: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly before: boolean;
  readonly machine: { readonly canPin: boolean; readonly canRead: boolean };
  readonly table: Table;
  readonly timesFloor: number | null;
  readonly extras: Extras | null;
  /** The books agree after the load. */
  readonly verified: boolean;
  readonly goals: readonly Goal[];
}

const idleMs = 15_000;

/** This gateway first, then the build before where one is named. */
async function begin(
  dir: string,
  upstreams: Upstreams,
  before: string | null,
): Promise<readonly [Running, ...Running[]]> {
  const gateway = await serve(await setUp(ownProgram, join(dir, 'gateway'), upstreams));
  return before === null ? [gateway] : [gateway, await serve(await setUp([before], join(dir, 'before'), upstreams))];
}

async function run(order: BenchOrder, dir: string, onProgress: (what: string) => void): Promise<Bench> {
  onProgress('practice upstreams, gateways and floors');
  const upstreams = await startUpstreams(order.upstreamPort);
  const gateways = await begin(dir, upstreams, order.before);
  const [gateway, older] = gateways;
  const floors: Floor[] = [];
  for (const kind of ['fetch', 'sockets', 'durable'] as const) floors.push(await startFloor(upstreams, kind));
  // What a start needs is given back within seconds.
  if (order.extras) await Bun.sleep(idleMs);
  const idle = memoryOf(gateway.child.pid);
  const running: (readonly [string, Running])[] = [[subjectNames.gateway, gateway]];
  if (older !== undefined) running.push([subjectNames.before, older]);
  const subjects = subjectsOf({ upstreams, floors, running, rivals: order.rivals });
  const deps = { measure: sampling(upstreams, order.seconds), now: () => performance.now(), onProgress: onProgress };
  const table = await measureAll(deps, order, subjects);

  const loaded = memoryOf(gateway.child.pid);
  for (const { child } of [...gateways, ...floors]) await end(child);
  const { site } = gateway;
  const verified = await command(site.program, site.dataDir, ['ledger', 'verify', '--json']).then(
    () => true,
    () => false,
  );
  const extras = order.extras ? await measureExtras(site, { idle, loaded }, order, onProgress) : null;
  const { rounds, seconds, before } = order;
  return {
    compiled: isCompiled,
    rounds,
    seconds,
    before: before !== null,
    machine: { canPin, canRead },
    table,
    timesFloor: timesFloor(table),
    extras,
    verified,
    goals: goalsOf(table, extras, before !== null),
  };
}

/** @param onProgress what is done at the moment. */
export async function runBench(order: BenchOrder, onProgress: (what: string) => void): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  // Ctrl-C leaves no time to wait.
  const leave = (): void => {
    killAll();
    rmSync(dir, { recursive: true, force: true });
  };
  process.once('exit', leave);
  try {
    return await run(order, dir, onProgress);
  } finally {
    await endAll();
    rmSync(dir, { recursive: true, force: true });
    process.off('exit', leave);
  }
}

/** As programs read it: each goal with its verdict. */
export const wireOf = (bench: Bench) => ({
  ...bench,
  goals: bench.goals.map((goal) => ({ ...goal, verdict: verdictOf(goal) })),
});
