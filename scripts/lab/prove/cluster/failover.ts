/** The database dies and a replica takes over that lacks the last two seconds, now and then with a node whose disk is full or that is killed while it sends again: every charge that a client saw is in the ledger, or the request was refused. */

import { startReplica } from '../../../servers/replica.ts';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import { beginAgain } from './failures.ts';
import type { PartOrder } from './load.ts';
import { call } from './people.ts';
import { createRandom } from './random.ts';
import { type Cluster, openCluster, until } from './site.ts';
import { type Credit, startTraffic } from './traffic.ts';

const delayMs = 2000;
const codeQuota = 50_000;
const orderQuota = 70_000;
const sentAgain = /sent again/g;

/** Asks until the answer is success, or that it was done before. @returns whether there was such an answer. */
async function retryUntilDone(ask: () => ReturnType<typeof call>, isOver: () => boolean): Promise<boolean> {
  for (;;) {
    const answer = await ask().catch(() => null);
    if (answer?.success === true) return true;
    if (isOver() || /used|使用/i.test(answer?.message ?? '')) return false;
    await Bun.sleep(200);
  }
}

/** Codes and orders, all of them older than any copy. */
function startCredits(cluster: Cluster, orders: string[]) {
  const { accounts, codes, root, balancer } = cluster;
  const credits: Credit[] = [];
  const paid: string[] = [];
  let over = false;
  const redeem = async () => {
    for (let n = 0; !over; n++) {
      const code = codes.pop();
      const account = accounts[n % accounts.length];
      if (code === undefined || account === undefined) return;
      const credit = { account, code, quota: codeQuota, confirmedAt: Number.POSITIVE_INFINITY };
      credits.push(credit);
      const ask = () => call(`${balancer.url}/api/user/topup`, 'POST', account.headers, { key: code });
      if (await retryUntilDone(ask, () => over)) credit.confirmedAt = performance.now();
      await Bun.sleep(250);
    }
  };
  const pay = async () => {
    while (!over) {
      const trade = orders.pop();
      if (trade === undefined) return;
      const ask = () => call(`${balancer.url}/api/user/topup/complete`, 'POST', root.headers, { trade_no: trade });
      if (await retryUntilDone(ask, () => over)) paid.push(trade);
      await Bun.sleep(250);
    }
  };
  const going = [redeem(), pay()];
  return {
    credits,
    paid,
    async stop() {
      over = true;
      await Promise.all(going);
    },
  };
}

async function makeOrders(cluster: Cluster, count: number): Promise<string[]> {
  const [account] = cluster.accounts;
  const rows = await cluster.query<{ trade_no: string }>(
    `INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at)
      SELECT $1, 'T' || n, 'epay', 1, $2, 730, 'cny', 1 FROM generate_series(1, $3) AS n RETURNING trade_no`,
    [account?.id, orderQuota, count],
  );
  return rows.map((row) => row.trade_no);
}

export async function failover({ seed, full }: PartOrder): Promise<readonly Goal[]> {
  const iterations = full ? 30 : 3;
  const names = ['one', 'two', 'three'];
  const cluster = await openCluster({
    accounts: names.map((name) => ({ name, balance: 10_000_000_000 })),
    codes: { count: iterations * 60, quota: codeQuota },
    diskBytes: 128,
  });
  try {
    const random = createRandom(seed);
    const orders = await makeOrders(cluster, iterations * 60);
    const traffic = startTraffic({
      url: cluster.balancer.url,
      accounts: cluster.accounts,
      poor: [],
      codes: [],
      codeQuota: 0,
      random: createRandom(seed + 1),
    });
    const credits = startCredits(cluster, orders);
    const said = () => cluster.nodes.reduce((sum, node) => sum + (node.output().match(sentAgain)?.length ?? 0), 0);
    let behind = 0;
    let fullDisks = 0;
    let reported = 0;
    let killed = 0;
    for (let round = 0; round < iterations; round++) {
      await until(() => cluster.balancer.ready().length === cluster.nodes.length, 120_000);
      const kind = (['full', 'killed'] as const)[round % 6] ?? 'plain';
      const index = random.whole(0, cluster.nodes.length - 1);
      const node = cluster.nodes[index];
      // A log that was folded back has room of its own for some hundred batches; a new one has none.
      if (kind === 'full') {
        await node?.stop();
        await beginAgain(cluster, index);
      }
      await Bun.sleep(1000);
      const standby = await startReplica(cluster.database);
      await Bun.sleep(1500);
      await standby.detach();
      const before = await ends(cluster);
      await Bun.sleep(delayMs / 2);
      const wordsBefore = node?.output().length ?? 0;
      if (kind === 'full') node?.fill(true);
      await Bun.sleep(delayMs / 2);
      const after = await ends(cluster);
      const times = said();
      cluster.database.stop('immediate');
      await standby.takeOver();
      behind += after - before;
      if (kind === 'full') {
        fullDisks++;
        await Bun.sleep(2000);
        if (/does not take the copy|outbox/.test(node?.output().slice(wordsBefore) ?? '')) reported++;
        node?.fill(false);
      }
      if (kind === 'killed') {
        await until(() => said() > times, 30_000).catch(() => undefined);
        await node?.kill();
        killed++;
        await beginAgain(cluster, index);
      }
      console.log(`failover: round ${round + 1} (${kind}): ${after - before} ends that the new server has not seen`);
    }
    await Bun.sleep(5000);
    await Promise.all([traffic.stop(), credits.stop()]);
    const audit = await auditOf(cluster, traffic.results, credits.credits);
    const confirmed = credits.credits.filter(({ confirmedAt }) => Number.isFinite(confirmedAt)).length;
    const [used] = await cluster.query<{ n: number }>('SELECT count(*) AS n FROM redemptions WHERE status = 3');
    const unpaid = await cluster.query(
      "SELECT trade_no FROM top_ups t WHERE trade_no = ANY($1) AND (status <> 'success' OR NOT EXISTS (SELECT 1 FROM postings WHERE ref = 'topup:' || t.trade_no))",
      [credits.paid],
    );
    console.log(`failover: ${summaryOf(traffic.results)}`);
    console.log(
      `failover: ${behind} ends missing in ${iterations} rounds, ${fullDisks} with a full disk (${reported} said so), ${killed} with a kill; ${confirmed} codes and ${credits.paid.length} orders confirmed`,
    );
    return [
      minGoal('failover: ends that had to be sent again', behind, 1, ''),
      minGoal('failover: codes and orders confirmed', Math.min(confirmed, credits.paid.length), 1, ''),
      maxGoal('failover: confirmed codes that are not used', Math.max(0, confirmed - (used?.n ?? 0)), 0, ''),
      maxGoal('failover: confirmed orders that are not paid', unpaid.length, 0, ''),
      minGoal('failover: full disks that were reported', reported, fullDisks, ''),
      ...goalsOf('failover', audit, traffic.unexpected),
    ];
  } finally {
    await cluster.close();
  }
}

const ends = async (cluster: Cluster): Promise<number> =>
  (await cluster.query<{ n: number }>('SELECT count(*) AS n FROM ends'))[0]?.n ?? 0;
