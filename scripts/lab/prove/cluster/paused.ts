/** A machine that stands still for longer than its leases live, with streams open: what it spends when it wakes up, and what becomes of the streams. */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import { pauseNode } from './failures.ts';
import type { PartOrder } from './load.ts';
import { openCluster, until } from './site.ts';
import { askOnce, type CallResult } from './traffic.ts';

const streams = 10;
/** Longer than life and grace. */
const pauseMs = { few: 25_000, many: 40_000 };
const balance = 10_000_000;
/** The balance of a user whose only traffic is this part's. */
const richBalance = 10_000_000_000;

export async function paused({ full }: PartOrder): Promise<readonly Goal[]> {
  const cluster = await openCluster({
    accounts: [
      { name: 'shared', balance },
      { name: 'rich', balance: richBalance },
    ],
  });
  try {
    const [account, fundedAccounts] = cluster.accounts;
    const [sleeper, other] = cluster.nodes;
    if (account === undefined || fundedAccounts === undefined || sleeper === undefined || other === undefined)
      throw new Error('no such account');
    const results: CallResult[] = [];
    const long = { model: 'practice-large', stream: true } as const;
    const open = Array.from({ length: streams }, () => askOnce(sleeper.url, account, long));
    await Bun.sleep(700);
    const pause = pauseNode(cluster, 0, full ? pauseMs.many : pauseMs.few);
    const expired = until(
      async () =>
        (await cluster.query<{ n: number }>("SELECT count(*) AS n FROM nodes WHERE state = 'expired'"))[0]?.n === 1,
    );
    // The others spend what there is while it sleeps.
    let spending = true;
    const spend = async () => {
      while (spending) results.push(await askOnce(other.url, account, { content: 'meanwhile' }));
    };
    const spenders = Array.from({ length: 4 }, spend);
    await expired;
    await pause;
    const wokeAt = performance.now();
    const first = await Promise.all(
      Array.from({ length: 20 }, () => askOnce(sleeper.url, account, { content: 'right after' })),
    );
    results.push(...first);
    const slept = await Promise.all(open);
    results.push(...slept);
    await until(async () => (await askOnce(sleeper.url, fundedAccounts, { content: 'again' })).whole);
    const backMs = performance.now() - wokeAt;
    spending = false;
    await Promise.all(spenders);
    const audit = await auditOf(cluster, results, []);
    console.log(`paused: its streams: ${summaryOf(slept)}; right after it woke up: ${summaryOf(first)}`);
    console.log(`paused: it serves again ${backMs.toFixed(0)} ms after it woke up`);
    const inFlight = slept.reduce((sum, { max }) => sum + max, 0);
    return [
      ...goalsOf('paused', audit, []).filter(({ name }) => !name.includes('overrun')),
      maxGoal('paused: paid by overrun, of what was in flight', audit.overrun, inFlight, ''),
      minGoal('paused: served meanwhile', results.filter(({ whole }) => whole).length, 20, ''),
    ];
  } finally {
    await cluster.close();
  }
}
