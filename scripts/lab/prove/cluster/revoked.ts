/** A node is cut off from the database while keys and users are revoked at another: after how many seconds it refuses them, with Redis and without. */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal } from '../site.ts';
import { type Account, call } from './people.ts';
import { openCluster } from './site.ts';
import { askOnce } from './traffic.ts';

/** $4,000. */
const balance = 2_000_000_000;
/** As the documents say: two with Redis, else until leases end. */
const withRedis = 2;
const withoutRedis = 27;
const pollMs = 100;

/** @param aloneSeconds setting of the node, 0 = its default. */
async function cutOff(name: string, hasRedis: boolean, aloneSeconds: number, most: number): Promise<readonly Goal[]> {
  const cluster = await openCluster({
    nodes: 2,
    linked: true,
    accounts: ['deleted', 'disabled', 'banned', 'kept'].map((account) => ({ name: account, balance })),
    ...(aloneSeconds === 0 ? {} : { env: { GATEWAY_ALONE_SECONDS: String(aloneSeconds) } }),
  });
  try {
    if (!hasRedis) await cluster.redis?.kill();
    const [cut, other] = cluster.nodes;
    const of = (account: string): Account => {
      const found = cluster.accounts.find((one) => one.name === account);
      if (found === undefined || cut === undefined || other === undefined) throw new Error(`no ${account}`);
      return found;
    };
    const url = cut?.url ?? '';
    // What a node reports of itself, and what was changed a moment ago, is known to all.
    for (const until = performance.now() + 6000; performance.now() < until; await Bun.sleep(pollMs))
      await Promise.all(cluster.accounts.map((account) => askOnce(url, account)));
    cut?.link?.set('hole');
    await Bun.sleep(1500);
    const api = `${other?.url}/api`;
    const { headers } = cluster.root;
    const from = performance.now();
    await Promise.all([
      call(`${api}/token/${of('deleted').tokenId}`, 'DELETE', of('deleted').headers),
      call(`${api}/token/?status_only=true`, 'PUT', of('disabled').headers, { id: of('disabled').tokenId, status: 2 }),
      call(`${api}/user/manage`, 'POST', headers, { id: of('banned').id, action: 'disable' }),
    ]);
    const goals: Goal[] = [];
    const refusedAfter = async (account: string): Promise<number> => {
      for (;;) {
        const { status } = await askOnce(url, of(account));
        const seconds = (performance.now() - from) / 1000;
        if (status !== 200 || seconds > 2 * most) return seconds;
        await Bun.sleep(pollMs);
      }
    };
    const names = ['deleted', 'disabled', 'banned'];
    const seconds = await Promise.all(names.map(refusedAfter));
    const kept = await askOnce(url, of('kept'));
    for (const [n, account] of names.entries())
      goals.push(maxGoal(`${name}: seconds until who was ${account} is refused`, seconds[n] ?? 0, most, 's'));
    console.log(
      `${name}: ${names.map((account, n) => `${account} ${seconds[n]?.toFixed(1)} s`).join(', ')}; others then ${kept.status}`,
    );
    return goals;
  } finally {
    await cluster.close();
  }
}

export async function revoked(): Promise<readonly Goal[]> {
  return [
    ...(await cutOff('with Redis', true, 0, withRedis)),
    ...(await cutOff('without Redis', false, 0, withoutRedis + 3)),
    ...(await cutOff('without Redis, 4 s set', false, 4, 4 + 3)),
  ];
}
