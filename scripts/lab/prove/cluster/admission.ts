/** A balance for ten requests and three hundred that want it at the same moment, on three machines; and how long one waits whose money lies on another machine. */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal, share } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import type { PartOrder } from './load.ts';
import type { Account } from './people.ts';
import { type Cluster, openCluster, until } from './site.ts';
import { askOnce, type CallResult, isForMoney } from './traffic.ts';

const balanceFor = 10;
const content = 'question 100';
/** Long enough that all are open at once. */
const question = { content, model: 'practice-large', stream: true } as const;

/** What a request of this kind holds: who has little leases exactly that for it. */
async function needed(cluster: Cluster, account: Account): Promise<number> {
  const requested = askOnce(cluster.nodes[0]?.url ?? '', account, question);
  let need = 0;
  await until(async () => {
    const [lease] = await cluster.query<{ amount: number }>(
      "SELECT amount FROM leases WHERE kind = 'account' AND subject = $1",
      [account.id],
    );
    need = lease?.amount ?? 0;
    return need > 0;
  });
  await requested;
  return need;
}

async function sendBurst(cluster: Cluster, account: Account, count: number): Promise<CallResult[]> {
  return Promise.all(
    Array.from({ length: count }, (_, n) =>
      askOnce(cluster.nodes[n % cluster.nodes.length]?.url ?? '', account, question),
    ),
  );
}

/** One request after the other, each on another machine than the one before. */
async function spreadRequests(cluster: Cluster, account: Account, count: number): Promise<CallResult[]> {
  const results: CallResult[] = [];
  for (let n = 0; n < count; n++)
    results.push(await askOnce(cluster.nodes[n % cluster.nodes.length]?.url ?? '', account, { content }));
  return results;
}

const median = (results: readonly CallResult[], part: number): number =>
  share(
    results.map(({ firstByteMs }) => firstByteMs),
    part,
  );

export async function admission({ full }: PartOrder): Promise<readonly Goal[]> {
  const iterations = full ? 20 : 5;
  const steps = full ? 1000 : 200;
  const accountOf = (name: string, balance: number) => ({ name, balance });
  const cluster = await openCluster({
    accounts: [
      accountOf('walker', 1_000_000_000),
      accountOf('narrow', 40_000),
      ...Array.from({ length: iterations }, (_, n) => accountOf(`burst${n}`, 1)),
    ],
  });
  try {
    const [walker, narrow, ...crowds] = cluster.accounts;
    if (walker === undefined || narrow === undefined) throw new Error('no such account');
    const need = await needed(cluster, narrow);
    const results: CallResult[] = [];
    const admitted: number[] = [];
    for (const account of crowds) {
      await credit(cluster, account, need * balanceFor - 1);
      const all = await sendBurst(cluster, account, 300);
      results.push(...all);
      admitted.push(all.filter(({ whole }) => whole).length);
      console.log(`admission: a balance of ${balanceFor} x ${need}: ${summaryOf(all)}`);
    }
    const walked = await spreadRequests(cluster, walker, steps);
    const unavailable: CallResult[] = [];
    for (let left = steps; left > 0; left -= balanceFor) {
      await credit(cluster, narrow, need);
      unavailable.push(...(await spreadRequests(cluster, narrow, balanceFor)).filter((one) => one.whole));
    }
    console.log(
      `admission: first byte with the money here p50 ${median(walked, 0.5).toFixed(1)} ms, p99 ${median(walked, 0.99).toFixed(1)} ms`,
    );
    console.log(
      `admission: first byte with the money elsewhere p50 ${median(unavailable, 0.5).toFixed(1)} ms, p99 ${median(unavailable, 0.99).toFixed(1)} ms (${unavailable.length} requests)`,
    );
    const audit = await auditOf(cluster, [...results, ...walked, ...unavailable], []);
    return [
      minGoal('admission: least admitted of ten', Math.min(...admitted), balanceFor, 'requests'),
      maxGoal('admission: refused though there was plenty', walked.filter(isForMoney).length, 0, ''),
      maxGoal('admission: p99 with the money elsewhere', median(unavailable, 0.99), full ? 500 : 2000, 'ms'),
      ...goalsOf('admission', audit, []),
    ];
  } finally {
    await cluster.close();
  }
}

/** By the administrator, as on any other day. */
async function credit(cluster: Cluster, account: Account, by: number): Promise<void> {
  const [node] = cluster.nodes;
  if (node === undefined) return;
  await node.run(['user', 'quota', 'add', account.name, String(by)]);
}
