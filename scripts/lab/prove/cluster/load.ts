/** Mixed traffic while one kind of trouble, or all of them, comes again and again. */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal, share } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import { type FaultCounts, injectFaults } from './failures.ts';
import { createRandom } from './random.ts';
import { openCluster, until } from './site.ts';
import { startTraffic } from './traffic.ts';

export interface PartOrder {
  readonly seed: number;
  /** The numbers of the whole proof instead of some minutes' worth. */
  readonly full: boolean;
  /** Of `nights`. */
  readonly minutes: number;
}

const richBalance = 10_000_000_000;
const poorBalance = 200_000;
const codeQuota = 150_000;
/** A calm while at the end: everything has to be served again. */
const settleMs = 5000;
const minResponses = 100;

const people = [
  ...Array.from({ length: 4 }, (_, n) => ({ name: `rich${n}`, balance: richBalance })),
  ...Array.from({ length: 2 }, (_, n) => ({ name: `limited${n}`, balance: richBalance, limit: richBalance / 2 })),
  ...Array.from({ length: 4 }, (_, n) => ({ name: `poor${n}`, balance: poorBalance })),
];

async function runFaults(name: string, counts: FaultCounts, { seed, full }: PartOrder): Promise<Goal[]> {
  const random = createRandom(seed);
  const cluster = await openCluster({ accounts: people, codes: { count: 600, quota: codeQuota } });
  try {
    const traffic = startTraffic({
      url: cluster.balancer.url,
      accounts: cluster.accounts.filter(({ balance }) => balance === richBalance),
      poor: cluster.accounts.filter(({ balance }) => balance === poorBalance),
      codes: cluster.codes,
      codeQuota,
      random: createRandom(seed + 1),
      clients: full ? 2 : 1,
    });
    await Bun.sleep(1000);
    const started = performance.now();
    const report = await injectFaults(cluster, { counts, random, pauseSeconds: [5, 30] });
    const faultsEnd = performance.now();
    await Bun.sleep(settleMs);
    const whole = () => traffic.results.filter((one) => one.whole).length;
    await until(() => whole() >= minResponses, 120_000);
    await traffic.stop();
    const afterFaults = traffic.results.filter(({ sentAt }) => sentAt > faultsEnd);
    const audit = await auditOf(cluster, traffic.results, traffic.credits);
    console.log(
      `${name}: seed ${seed}, ${report.done} faults in ${((performance.now() - started) / 1000).toFixed(0)} s, ${traffic.results.length} requests: ${summaryOf(traffic.results)}`,
    );
    console.log(`${name}: after the last fault: ${summaryOf(afterFaults)}`);
    if (report.recoveries.length > 0)
      console.log(
        `${name}: a killed node is ready again after ${share(report.recoveries, 0.5).toFixed(0)} ms (p50), ${share(report.recoveries, 1).toFixed(0)} ms (max)`,
      );
    const served = traffic.results.filter(({ whole }) => whole).map(({ firstByteMs }) => firstByteMs);
    console.log(
      `${name}: first byte p50 ${share(served, 0.5).toFixed(0)} ms, p99 ${share(served, 0.99).toFixed(0)} ms`,
    );
    const confirmed = traffic.credits.filter(({ confirmedAt }) => Number.isFinite(confirmedAt)).length;
    console.log(`${name}: ${confirmed} of ${traffic.credits.length} codes confirmed`);
    return [
      minGoal(`${name}: answers seen whole`, whole(), minResponses, ''),
      ...goalsOf(name, audit, traffic.unexpected),
      maxGoal(
        `${name}: broken in the calm after`,
        afterFaults.filter(({ status, left }) => status === 0 && !left).length,
        0,
        '',
      ),
    ];
  } finally {
    await cluster.close();
  }
}

const part = (name: string, few: FaultCounts, many: FaultCounts) => (order: PartOrder) =>
  runFaults(name, order.full ? many : few, order);

export const baseline = part('calm', {}, {});
export const kills = part('kills', { kill: 12 }, { kill: 200 });
export const restarts = part('restarts', { restart: 14 }, { restart: 50 });
export const freezes = part('freezes', { freezeNode: 2, freezeDatabase: 2 }, { freezeNode: 10, freezeDatabase: 10 });
export const redis = part('redis', { redis: 4 }, { redis: 10 });
export const all = part(
  'all at once',
  { kill: 5, restart: 3, freezeNode: 1, freezeDatabase: 1, redis: 2 },
  { kill: 200, restart: 50, freezeNode: 10, freezeDatabase: 10, redis: 10 },
);
