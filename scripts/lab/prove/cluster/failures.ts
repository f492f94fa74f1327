/** What goes wrong on purpose, one after the other, in an order that comes from the seed. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Random } from './random.ts';
import { type Cluster, until } from './site.ts';

export type FaultName = 'kill' | 'restart' | 'freezeNode' | 'freezeDatabase' | 'redis';
export type FaultCounts = { readonly [Name in FaultName]?: number };

export interface FaultReport {
  readonly done: number;
  /** Milliseconds from the start of a node that was killed until it is ready. */
  readonly recoveries: readonly number[];
  /** Times at which something was wrong, with a margin for its aftermath. */
  readonly spans: readonly { readonly from: number; readonly to: number }[];
}

export interface FaultOrder {
  readonly counts: FaultCounts;
  readonly random: Random;
  /** Seconds of a freeze. */
  readonly pauseSeconds: readonly [from: number, to: number];
}

/** What was leased by a node that died is free again after its life and the clocks' grace. */
export const recoveryMarginMs = 45_000;
const recoveryMs = 60_000;

/** The server and everything that it has started. */
export function processesOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        return [{ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }];
      } catch {
        return [];
      }
    });
  return [pid, ...parents.filter(({ parent }) => parent === pid).map((one) => one.pid)];
}

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

export async function pauseDatabase(cluster: Cluster, ms: number): Promise<void> {
  const pid = cluster.database.pid();
  signalAll(processesOf(pid), 'SIGSTOP');
  await Bun.sleep(ms);
  signalAll(processesOf(pid), 'SIGCONT');
}

export async function pauseNode(cluster: Cluster, index: number, ms: number): Promise<void> {
  const node = cluster.nodes[index];
  node?.signal('SIGSTOP');
  await Bun.sleep(ms);
  node?.signal('SIGCONT');
}

/** Characters of what a node said that is shown when it does not come back. */
const lastWords = 3000;

/** A database that starts again while a node does may cost it another try, as under any supervisor. */
export async function beginAgain(cluster: Cluster, index: number): Promise<number> {
  const started = performance.now();
  for (;;) {
    try {
      await cluster.nodes[index]?.begin();
      return performance.now() - started;
    } catch (error) {
      if (performance.now() - started > recoveryMs) throw error;
      await Bun.sleep(500);
    }
  }
}

export async function injectFaults(cluster: Cluster, order: FaultOrder): Promise<FaultReport> {
  const { random } = order;
  const names = Object.entries(order.counts).flatMap(([name, count]) =>
    Array.from({ length: count }, () => name as FaultName),
  );
  const recoveries: number[] = [];
  const spans: { from: number; to: number }[] = [];
  const pauseMs = () => random.whole(order.pauseSeconds[0] * 1000, order.pauseSeconds[1] * 1000);
  const any = () => random.whole(0, cluster.nodes.length - 1);
  const faults: Readonly<Record<FaultName, () => Promise<void>>> = {
    async kill() {
      const index = any();
      await cluster.nodes[index]?.kill();
      await Bun.sleep(random.whole(0, 1500));
      recoveries.push(await beginAgain(cluster, index));
    },
    restart: () => cluster.database.restart(),
    freezeNode: () => pauseNode(cluster, any(), pauseMs()),
    freezeDatabase: () => pauseDatabase(cluster, pauseMs()),
    async redis() {
      if (cluster.redis === null) return;
      if (random.share() < 0.5) return cluster.redis.flush();
      await cluster.redis.kill();
      await Bun.sleep(random.whole(0, 3000));
      await cluster.redis.begin();
    },
  };
  let done = 0;
  for (const name of random.shuffle(names)) {
    await Bun.sleep(random.whole(300, 2000));
    const from = performance.now();
    await faults[name]();
    spans.push({ from, to: performance.now() + recoveryMarginMs });
    done++;
    if (done % 10 === 0) console.log(`${done} of ${names.length} faults`);
  }
  await until(() => cluster.balancer.ready().length === cluster.nodes.length, recoveryMs).catch((error: unknown) => {
    for (const node of cluster.nodes) console.log(`${node.name}: ${node.output().slice(-lastWords)}`);
    throw error;
  });
  return { done, recoveries, spans };
}
