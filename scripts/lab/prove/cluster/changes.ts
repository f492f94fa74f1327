/** How soon every machine acts on what was changed on one of them, under load, while others hold transactions open. */
import { Client } from 'pg';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, share } from '../site.ts';
import type { PartOrder } from './load.ts';
import { type Account, call } from './people.ts';
import { createRandom } from './random.ts';
import { type Cluster, openCluster } from './site.ts';
import { startTraffic } from './traffic.ts';

const timeoutMs = 10_000;
const checkEveryMs = 15;

const statusOf = (url: string, key: string): Promise<number> =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );

/** @returns milliseconds from the change's answer until every machine acts on it; Infinity = one of them never did. */
async function untilApplied(cluster: Cluster, key: string, isSo: (status: number) => boolean): Promise<number> {
  const since = performance.now();
  const each = await Promise.all(
    cluster.nodes.map(async ({ url }) => {
      while (performance.now() - since < timeoutMs) {
        if (isSo(await statusOf(url, key))) return performance.now() - since;
        await Bun.sleep(checkEveryMs);
      }
      return Number.POSITIVE_INFINITY;
    }),
  );
  return Math.max(...each);
}

interface Change {
  readonly what: string;
  make(cluster: Cluster, url: string): Promise<unknown>;
  readonly isSo: (status: number) => boolean;
}

const changesOf = (account: Account, root: Account): readonly Change[] => {
  const key = (status: number) => (_: Cluster, url: string) =>
    call(`${url}/api/token/`, 'PUT', account.headers, { id: account.tokenId, status, status_only: true });
  const user = (action: string) => (_: Cluster, url: string) =>
    call(`${url}/api/user/manage`, 'POST', root.headers, { id: account.id, action });
  return [
    { what: 'key off', make: key(2), isSo: (status) => status === 401 },
    { what: 'key on', make: key(1), isSo: (status) => status === 200 },
    { what: 'user banned', make: user('disable'), isSo: (status) => status === 403 },
    { what: 'user free', make: user('enable'), isSo: (status) => status === 200 },
  ];
};

/** Writes that stay open: what came later is readable before they are, or never mind them. */
async function openTransaction(url: string, database: string): Promise<() => Promise<void>> {
  const address = new URL(url);
  address.pathname = `/${database}`;
  const client = new Client({ connectionString: address.href });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  return async () => {
    await client.query('ROLLBACK').catch(() => undefined);
    await client.end();
  };
}

export async function changeDelays({ seed, full }: PartOrder): Promise<readonly Goal[]> {
  const changes = full ? 1000 : 120;
  const random = createRandom(seed);
  const changed = Array.from({ length: 4 }, (_, n) => ({ name: `changed${n}`, balance: 1_000_000 }));
  const busy = Array.from({ length: 3 }, (_, n) => ({ name: `busy${n}`, balance: 10_000_000_000 }));
  const cluster = await openCluster({ accounts: [...changed, ...busy] });
  try {
    const { accounts, root, nodes } = cluster;
    const traffic = startTraffic({
      url: cluster.balancer.url,
      accounts: accounts.filter(({ name }) => name.startsWith('busy')),
      poor: [],
      codes: [],
      codeQuota: 0,
      random,
    });
    const times: number[] = [];
    const made: number[] = [];
    let left = changes;
    let slowest = { ms: 0, what: '' };
    const change = async (account: Account) => {
      const rows = changesOf(account, root);
      for (let n = 0; left-- > 0; n++) {
        const row = rows[n % rows.length];
        if (row === undefined) return;
        const started = performance.now();
        await row.make(cluster, nodes[random.whole(0, nodes.length - 1)]?.url ?? '');
        made.push(performance.now() - started);
        const ms = await untilApplied(cluster, account.key, row.isSo);
        times.push(ms);
        if (ms > slowest.ms) slowest = { ms, what: row.what };
      }
    };
    let over = false;
    const holding = (async () => {
      while (!over) {
        const release = await openTransaction(cluster.url, random.share() < 0.5 ? 'site' : 'postgres');
        await Bun.sleep(random.whole(500, 4000));
        await release();
      }
    })();
    await Promise.all(accounts.filter(({ name }) => name.startsWith('changed')).map(change));
    over = true;
    await holding;
    await traffic.stop();
    const missed = times.filter((ms) => !Number.isFinite(ms)).length;
    console.log(
      `news: ${times.length} changes, p50 ${share(times, 0.5).toFixed(0)} ms, p99 ${share(times, 0.99).toFixed(0)} ms, slowest ${slowest.ms.toFixed(0)} ms (${slowest.what})`,
    );
    console.log(`news: a change itself p50 ${share(made, 0.5).toFixed(0)} ms, max ${share(made, 1).toFixed(0)} ms`);
    return [
      maxGoal('news: missed', missed, 0, ''),
      maxGoal('news: until the last machine acts, max', Math.max(...times.filter(Number.isFinite)), 1000, 'ms'),
    ];
  } finally {
    await cluster.close();
  }
}
