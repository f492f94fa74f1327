/** The whole measurement in a folder of its own, from practice upstreams to goals; nothing is left behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rival } from './against.ts';
import { type Extent, type Extras, measureExtras, megabytes } from './extras.ts';
import type { Table } from './figures.ts';
import { type Goal, goalsOf, priceOfBilling, verdictOf } from './goals.ts';
import { canPin, canRead } from './machine.ts';
import { measureAll, type Plan, sampling } from './measure.ts';
import { command, end, endAll, isCompiled, itself, killAll, type Program } from './processes.ts';
import { type Running, serve, setUp, startFloor, startUpstreams, type TierLevel, type Upstreams } from './site.ts';
import { subjectNames, subjectsOf } from './subjects.ts';

export interface BenchOrder extends Plan, Extent {
  /** An older build, null = none. */
  readonly before: string | null;
  readonly rivals: readonly Rival[];
  /** Of the practice upstreams, null = any. */
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
  readonly priceOfBilling: number | null;
  readonly extras: Extras | null;
  /** The books agree after the load. */
  readonly verified: boolean;
  readonly goals: readonly Goal[];
}

const idleMs = 15_000;

interface Begun {
  readonly running: readonly (readonly [string, Running])[];
  /** The one that everything is promised of. */
  readonly durable: Running;
}

async function begin(dir: string, upstreams: Upstreams, before: string | null): Promise<Begun> {
  const one = async (program: Program, folder: string, tier: TierLevel): Promise<Running> =>
    serve(await setUp(program, join(dir, folder), upstreams), tier);
  const relay = await one(itself, 't1', 1);
  const routing = await one(itself, 't2', 2);
  const durable = await one(itself, 't3', 3);
  const running: (readonly [string, Running])[] = [
    [subjectNames.relay, relay],
    [subjectNames.routing, routing],
    [subjectNames.durable, durable],
  ];
  if (before !== null) {
    running.push([subjectNames.relayBefore, await one([before], 'before-t1', 1)]);
    running.push([subjectNames.durableBefore, await one([before], 'before-t3', 3)]);
  }
  return { running, durable };
}

async function run(order: BenchOrder, dir: string, told: (what: string) => void): Promise<Bench> {
  told('practice upstreams, gateways and floor');
  const upstreams = await startUpstreams(order.upstreamPort);
  const { running, durable } = await begin(dir, upstreams, order.before);
  const floor = await startFloor(upstreams);
  // What a start needs is given back within seconds.
  if (order.extras) await Bun.sleep(idleMs);
  const idleMb = megabytes(durable.child.pid);
  const subjects = subjectsOf({ upstreams, floor, running, rivals: order.rivals });
  const deps = { measure: sampling(upstreams, order.seconds), now: () => performance.now(), told };
  const table = await measureAll(deps, order, subjects);

  const loadedMb = megabytes(durable.child.pid);
  for (const child of [...running.map(([, one]) => one.child), floor.child]) await end(child);
  const { site } = durable;
  const verified = await command(site.program, site.dataDir, ['ledger', 'verify', '--json']).then(
    () => true,
    () => false,
  );
  const extras = order.extras ? await measureExtras(site, { idleMb, loadedMb }, order, told) : null;
  const { rounds, seconds, before } = order;
  return {
    compiled: isCompiled,
    rounds,
    seconds,
    before: before !== null,
    machine: { canPin, canRead },
    table,
    priceOfBilling: priceOfBilling(table),
    extras,
    verified,
    goals: goalsOf(table, extras, before !== null),
  };
}

/** @param told what is done at the moment. */
export async function runBench(order: BenchOrder, told: (what: string) => void): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  // Ctrl-C leaves no time to wait.
  const leave = (): void => {
    killAll();
    rmSync(dir, { recursive: true, force: true });
  };
  process.once('exit', leave);
  try {
    return await run(order, dir, told);
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
