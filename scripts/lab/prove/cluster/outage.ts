/** The database goes away after a few seconds of use: for how long ample balances are served, and what `/readyz` says of it. */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import type { PartOrder } from './load.ts';
import { createRandom } from './random.ts';
import { openCluster } from './site.ts';
import { startTraffic } from './traffic.ts';

/** $4,000. */
const balance = 2_000_000_000;
/** Of use before; the longer one is what leases grow with. */
const before = [1, 8, 65];
/** A lease of 30 s serves for 27. */
const leaseSeconds = 27;
const outageSeconds = 35;
const readyPollMs = 100;

async function after(seconds: number, seed: number): Promise<Goal[]> {
  const name = `outage after ${seconds} s`;
  const cluster = await openCluster({
    accounts: ['one', 'two', 'three', 'four'].map((account) => ({ name: account, balance })),
    diskBytes: 128,
  });
  try {
    const traffic = startTraffic({
      url: cluster.balancer.url,
      accounts: cluster.accounts,
      ...{ poor: [], codes: [], codeQuota: 0, random: createRandom(seed) },
    });
    await Bun.sleep(seconds * 1000);
    cluster.database.stop('immediate');
    const from = performance.now();
    /** Seconds at which each node said that it serves. */
    const said = cluster.nodes.map(() => 0);
    const polling = cluster.nodes.map(async ({ url }, n) => {
      while (performance.now() - from < outageSeconds * 1000) {
        const { status } = await fetch(`${url}/readyz`, { keepalive: false }).catch(() => ({ status: 0 }));
        if (status === 200) said[n] = (performance.now() - from) / 1000;
        await Bun.sleep(readyPollMs);
      }
    });
    await Promise.all(polling);
    cluster.database.start();
    await Bun.sleep(5000);
    await traffic.stop();
    const audit = await auditOf(cluster, traffic.results, traffic.credits);
    const during = traffic.results.filter(({ sentAt }) => sentAt > from && sentAt < from + leaseSeconds * 1000);
    const last = Math.max(0, ...during.filter(({ whole }) => whole).map(({ sentAt }) => (sentAt - from) / 1000));
    const refused = during.filter(({ status }) => status === 503);
    const first = Math.min(...refused.map(({ sentAt }) => (sentAt - from) / 1000), leaseSeconds);
    console.log(`${name}: within ${leaseSeconds} s ${during.length} requests: ${summaryOf(during)}`);
    console.log(`${name}: first 503 after ${first.toFixed(1)} s, last answer after ${last.toFixed(1)} s`);
    console.log(`${name}: /readyz said 200 until ${said.map((at) => at.toFixed(1)).join(', ')} s`);
    return [
      minGoal(`${name}: seconds until the last answer`, last, leaseSeconds - 3, 's'),
      maxGoal(`${name}: refused of those within the lease`, refused.length / Math.max(1, during.length), 0.05, ''),
      ...goalsOf(name, audit, traffic.unexpected),
    ];
  } finally {
    await cluster.close();
  }
}

export async function outage({ seed }: PartOrder): Promise<readonly Goal[]> {
  const goals: Goal[] = [];
  for (const seconds of before) goals.push(...(await after(seconds, seed)));
  return goals;
}
