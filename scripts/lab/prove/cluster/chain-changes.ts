/**
 * How soon every relay thread of every machine acts on a changed chain of a virtual model, and on a key that is bound to another
 * channel: on each, requests on connections of their own begin all the time, and the last that began after the change was
 * acknowledged and still went the old way counts. On one machine, then on three.
 */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, share } from '../site.ts';
import type { PartOrder } from './load.ts';
import { type Account, call } from './people.ts';
import { type Cluster, openCluster } from './site.ts';

const watchedMs = 2500;
const models = ['practice-small', 'practice-large'] as const;

/** Each on a connection of its own, so that all threads are met. @returns what the request went to; null = it failed. */
async function servedBy(url: string, key: string): Promise<string | null> {
  const response = await fetch(`${url}/v1/models/${name}`, {
    headers: { authorization: `Bearer ${key}`, connection: 'close' },
    keepalive: false,
  }).catch(() => null);
  const body = (await response?.json().catch(() => null)) as { targets?: readonly { model: string }[] } | null;
  return response === null ? null : (body?.targets?.[0]?.model ?? 'none');
}

const name = 'coder';

/** @returns milliseconds from the change's answer until the last request began that went the old way; 0 = none did. */
async function lastStale(
  cluster: Cluster,
  key: string,
  change: () => Promise<unknown>,
  isNew: (served: string) => boolean,
) {
  let changedAt = Number.POSITIVE_INFINITY;
  let last = 0;
  let asked = 0;
  const end = () => performance.now() - changedAt > watchedMs;
  const watching = cluster.nodes.flatMap(({ url }) =>
    Array.from({ length: 4 }, async () => {
      while (!end()) {
        const began = performance.now();
        const served = await servedBy(url, key);
        asked++;
        if (served !== null && !isNew(served) && began > changedAt) last = Math.max(last, began - changedAt);
        await Bun.sleep(5);
      }
    }),
  );
  await Bun.sleep(200);
  await change();
  changedAt = performance.now();
  await Promise.all(watching);
  return { last, asked };
}

async function measure(nodes: number, changes: number): Promise<readonly Goal[]> {
  const cluster = await openCluster({
    nodes,
    serveFlags: ['--relays', '2'],
    accounts: [{ name: 'caller', balance: 1_000_000_000 }],
  });
  try {
    const { root } = cluster;
    const [caller] = cluster.accounts as readonly [Account];
    const on = (n: number) => cluster.nodes[n % nodes]?.url ?? '';
    const ask = (n: number, path: string, method: 'GET' | 'POST' | 'PUT', body?: object) =>
      call(`${on(n)}${path}`, method, root.headers, body);
    const made = (await ask(0, '/api/virtual_model/', 'POST', { name, targets: [{ model: models[0] }] })) as {
      data?: { id: number };
    };
    const id = made.data?.id ?? 1;
    await Bun.sleep(2000);
    const times: number[] = [];
    let asked = 0;
    for (let n = 1; n <= changes; n++) {
      const model = models[n % 2] ?? '';
      const found = await lastStale(
        cluster,
        caller.key,
        () => ask(n, '/api/virtual_model/', 'PUT', { id, targets: [{ model }] }),
        (served) => served === model,
      );
      times.push(found.last);
      asked += found.asked;
    }
    const channels = (
      (await ask(0, '/api/channel/?page_size=100', 'GET')) as { data: { id: number; models: string }[] }
    ).data;
    const channelOf = (model: string) => channels.find((one) => one.models.split(',').includes(model))?.id ?? 0;
    await ask(0, '/api/virtual_model/', 'PUT', { id, targets: models.map((model) => ({ model })) });
    const bound: number[] = [];
    for (let n = 0; n < changes; n++) {
      const to = models[n % 2] ?? '';
      const other = models[(n + 1) % 2] ?? '';
      // The list of targets has the first that the key's channels serve, whichever comes first in the chain.
      const found = await lastStale(
        cluster,
        caller.key,
        async () => {
          await ask(n, '/api/virtual_model/', 'PUT', { id, targets: [{ model: to }] });
          await ask(n, '/api/token/', 'PUT', { id: caller.tokenId, channels: String(channelOf(to)) });
        },
        (served) => served === to && served !== other,
      );
      bound.push(found.last);
      asked += found.asked;
    }
    const label = `${nodes} node${nodes === 1 ? '' : 's'} x 2 relays`;
    console.log(
      `chains on ${label}: ${asked} requests; last old one after a changed chain p50 ${share(times, 0.5).toFixed(0)}, max ${Math.max(...times).toFixed(0)} ms; after chain and channels of the key p50 ${share(bound, 0.5).toFixed(0)}, max ${Math.max(...bound).toFixed(0)} ms`,
    );
    return [
      maxGoal(`chains on ${label}: last request that went the old way`, Math.max(...times), 1000, 'ms'),
      maxGoal(`keys' channels on ${label}: the same`, Math.max(...bound), 1000, 'ms'),
    ];
  } finally {
    await cluster.close();
  }
}

export async function chainChanges({ full }: PartOrder): Promise<readonly Goal[]> {
  const changes = full ? 40 : 8;
  return [...(await measure(1, changes)), ...(await measure(3, changes))];
}
