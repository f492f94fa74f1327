import { afterEach, beforeEach, expect, test } from 'vitest';
import { postgresStats } from '../../db/ledger/postgres/stats.ts';
import { type Line, openLine } from '../../db/postgres/line.ts';
import { clearLeases, expireNodes, orphans } from '../../db/postgres/nodes.ts';
import { Account } from '../../server/billing/ledger/commands.ts';
import { endFor } from '../../server/billing/ledger/recovery.ts';
import { grant } from '../ledger/support.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { type Cluster, type ClusterNode, startCluster } from './cluster.ts';
import type { Fate } from './proxy.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
let line: Line;
let cluster: Cluster;

beforeEach(async () => {
  site = await openSite();
  line = await openLine({ engine: 'postgres', url: site.url });
});
afterEach(async () => {
  await Promise.all(cluster.nodes.map(({ engine }) => engine.drain()));
  expect(await site.violations()).toEqual([]);
  line.close();
  await cluster.stop();
  await site.drop();
});

const nodeOf = (index: number): ClusterNode => {
  const node = cluster.nodes[index];
  if (node === undefined) throw new Error(`no node ${index}`);
  return node;
};
async function begin(count: number, balance: number): Promise<void> {
  await site.addUsers(1, 2);
  cluster = await startCluster(site, count);
  await nodeOf(0).node.store.apply([grant('g1', 1, balance), grant('g2', 2, balance)]);
}

test('a balance for ten requests admits ten of 300 over three nodes, and the tenth is never refused', async () => {
  await begin(3, 100);
  const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => nodeOf(n % 3).admit(`r${n}`, 1, 10)));
  expect(answers.filter((answer) => answer === 'granted')).toHaveLength(10);
  expect(new Set(answers)).toEqual(new Set(['granted', 'exhausted']));
  for (const node of cluster.nodes) for (const request of [...node.open]) await node.end(request, 10);
  expect(await site.balance(1)).toBe(0);
  expect(await site.rows('SELECT overrun FROM accounts WHERE overrun <> 0')).toEqual([]);
});

test('exactness 10: money that lies idle elsewhere comes over when it is asked for', async () => {
  await begin(3, 1000);
  // A large use makes for a large share.
  expect(await nodeOf(0).admit('a', 1, 10, 400)).toBe('granted');
  expect(await nodeOf(1).admit('b', 1, 10, 400)).toBe('granted');
  expect(nodeOf(0).reachOf(1)).toBeGreaterThan(100);
  expect(await nodeOf(2).admit('c', 1, 975)).toBe('granted');
  expect([nodeOf(0).reachOf(1), nodeOf(1).reachOf(1)]).toEqual([10, 10]);
});

test('exactness 10: money that a frozen node holds is not used up: the answer says that it is elsewhere, after two seconds', async () => {
  await begin(2, 100);
  expect(await nodeOf(0).admit('a', 1, 10, 60)).toBe('granted');
  expect(nodeOf(0).reachOf(1)).toBe(25);
  await nodeOf(0).admit('b', 1, 80);
  await nodeOf(0).end(nodeOf(0).open[1] ?? fail(), 0);
  nodeOf(0).frozen = true;
  const started = performance.now();
  expect(await nodeOf(1).admit('c', 1, 60)).toBe('elsewhere');
  expect(performance.now() - started).toBeGreaterThan(1900);
  // What no node could have is refused at once.
  const startedAt = performance.now();
  expect(await nodeOf(1).admit('d', 1, 101)).toBe('exhausted');
  expect(performance.now() - startedAt).toBeLessThan(1900);
});

test('requests of one account are served in the order in which they came', async () => {
  await begin(2, 100);
  const order: string[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      await nodeOf(0).admit(`r${n}`, 1, 5);
      order.push(`r${n}`);
    }),
  );
  expect(order).toEqual(order.toSorted());
});

test('exactness 14: a node that slept admits nothing before the database has heard of it again', async () => {
  await begin(2, 100);
  const sleeper = nodeOf(0);
  expect(await sleeper.admit('a', 1, 10)).toBe('granted');
  await sleeper.end(sleeper.open[0] ?? fail(), 0);
  sleeper.ahead.wall += 13_000;
  sleeper.proxy.freeze();
  expect(await sleeper.admit('b', 1, 10)).toBe('away');
  sleeper.proxy.thaw();
  await sleeper.beat();
  expect(await sleeper.admit('c', 1, 10)).toBe('granted');
});

test('a leased amount of a budget counts in every period: with what is spent in that one it is never more than the budget', async () => {
  await begin(2, 1000);
  const day = 86_400;
  await site.rows(
    `UPDATE tokens SET unlimited = 1, day_budget = 100, month_budget = 150,
      day_at = extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC'))::bigint, day_used = 30,
      month_at = extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC'))::bigint, month_used = 40 WHERE id = 1`,
  );
  const lease = async (index: number, tokenNeed: number) => {
    const { store } = nodeOf(index).node;
    const ask = { type: 'acquire', account: 1, token: 1, need: 0, tokenNeed, use: 0, nodes: 2 } as const;
    const [grant] = (await store.move([ask], store.epoch())).grants;
    return [grant?.tokenGranted, grant?.tokenMax, grant?.tokenBound];
  };
  expect(await lease(0, 60)).toEqual([60, 70, 'day']);
  expect(await lease(1, 20)).toEqual([0, 70, 'day']);
  expect(await lease(1, 10)).toEqual([10, 70, 'day']);
  // The next day: what is leased may be spent then.
  await site.rows('UPDATE tokens SET day_at = day_at - $1 WHERE id = 1', day);
  expect(await lease(1, 40)).toEqual([0, 100, 'day']);
  expect(await lease(1, 30)).toEqual([30, 100, 'day']);
  await site.rows('UPDATE tokens SET day_budget = 1000 WHERE id = 1');
  expect(await lease(0, 11)).toEqual([0, 110, 'month']);
  await site.rows('UPDATE tokens SET unlimited = 0, quota_limit = 105 WHERE id = 1');
  expect(await lease(0, 6)).toEqual([0, 105, 'limit']);
  expect(await lease(0, 5)).toEqual([5, 105, 'limit']);
});

test('a grant says what the user owes and has paid in by then, whichever node wrote it', async () => {
  await begin(2, 1000);
  const { store } = nodeOf(1).node;
  const stated = async (account: number) => {
    const ask = { type: 'acquire', account, token: 0, need: 1, tokenNeed: 0, use: 0, nodes: 2 } as const;
    return (await store.move([ask], store.epoch())).grants[0]?.accountState;
  };
  const before = await stated(1);
  expect(before).toMatchObject({ overrun: 0, paidIn: 0 });
  await site.rows('UPDATE accounts SET overrun = 30, paid_in = 500, version = version + 2 WHERE id = 1');
  expect(await stated(1)).toEqual({ overrun: 30, paidIn: 500, version: (before?.version ?? 0) + 2 });
  expect(await stated(77)).toBeUndefined();
  await site.rows('UPDATE accounts SET overrun = 0, paid_in = 0, version = version - 2 WHERE id = 1');
});

const seeds = often(3, 40, 'LEASES');
const first = Number(process.env.LEASES_SEED ?? 1);

test.each(Array.from({ length: seeds }, (_, n) => first + n))(
  'seed %i: commits late and lost, nodes frozen and declared gone: nothing is leased twice, spent twice or lost',
  async (seed) => {
    const random = randomOf(seed);
    const upTo = (n: number) => Math.floor(random() * n);
    await begin(3, 1000);
    const fates: readonly Fate[] = ['passes', 'passes', 'passes', 'late', 'lost', 'unanswered'];
    for (const { proxy } of cluster.nodes) proxy.next = () => fates[upTo(fates.length)] ?? 'passes';
    const charged = new Map<string, { account: number; amount: number }>();
    /** Settled for their node as far as was seen, and what had been set aside for them freed. */
    const recovered = new Set<string>();
    const pending: Promise<unknown>[] = [];
    let count = 0;
    const check = async () => {
      const { wrongLeases, negative, wrongBalances } = await postgresStats(site.database);
      expect([...wrongLeases, ...negative, ...wrongBalances], `seed ${seed}`).toEqual([]);
    };
    const act = (node: ClusterNode): void => {
      const account = 1 + upTo(2);
      switch (upTo(6)) {
        case 0:
        case 1:
        case 2:
          pending.push(node.admit(`${seed}-${count++}`, account, 1 + upTo(200), upTo(3) * 100).catch(() => undefined));
          return;
        case 3:
        case 4: {
          const request = node.open[upTo(node.open.length)];
          if (request === undefined) return;
          const amount = upTo(request.amount + 1);
          charged.set(request.ref, { account: request.account, amount });
          pending.push(node.end(request, amount));
          return;
        }
        default:
          node.rest(account);
      }
    };
    for (let step = 0; step < 40; step++) {
      const awake = cluster.nodes.filter(({ frozen }) => !frozen);
      for (let n = upTo(4); n >= 0; n--) {
        const node = awake[upTo(awake.length)];
        if (node !== undefined) act(node);
      }
      await Bun.sleep(upTo(25));
      await check();
      const node = nodeOf(upTo(3));
      if (node.frozen) {
        // Gone for good, as far as the others know, or only for a moment.
        if (upTo(2) === 0) {
          // The others wait for longer than it spends.
          node.ahead.monotonic += 20_000;
          await node.engine.drain();
          await expireNodes(line, [node.node.store.epoch()]);
          if (upTo(2) === 0) {
            const ends = (await orphans(line, -3600)).map((one) => ({ ...endFor(one), provisional: true }));
            for (const { ref } of ends) recovered.add(ref);
            const other = cluster.nodes.find((one) => !one.frozen);
            await Promise.all(ends.map((end) => new Promise<unknown>((resolve) => other?.engine.submit(end, resolve))));
          }
          await clearLeases(line);
          await check();
        }
        node.frozen = false;
        await node.beat().catch(() => undefined);
      } else if (upTo(5) === 0 && awake.length > 1) node.frozen = true;
    }
    for (const node of cluster.nodes) {
      node.proxy.next = () => 'passes';
      node.frozen = false;
    }
    for (let attempts = 0; attempts < 3; attempts++)
      for (const node of cluster.nodes) await node.beat().catch(() => undefined);
    await Promise.all(pending);
    for (const node of cluster.nodes)
      for (const request of [...node.open]) {
        charged.set(request.ref, { account: request.account, amount: request.amount });
        await node.end(request, request.amount);
      }
    await check();
    const ends = await site.rows<{ ref: string; account: number; asked: number; paid: number }>(
      'SELECT ref, account, asked, paid FROM ends WHERE asked > 0 AND provisional = 0 ORDER BY ref',
    );
    const accounts = new Map([...charged].map(([ref, { account }]) => [ref, account]));
    const expected = [...charged]
      .filter(([, { amount }]) => amount > 0)
      .map(([ref, { amount }]) => ({ ref, asked: amount }))
      .sort((a, b) => (a.ref < b.ref ? -1 : 1));
    expect(
      ends.map(({ ref, asked: requested }) => ({ ref, asked: requested })),
      `seed ${seed}`,
    ).toEqual(expected);
    // Nothing was spent beyond the balance, except what was returned after another had settled for it.
    expect(
      ends.filter(
        ({ ref, account, asked: requested, paid }) =>
          !recovered.has(ref) && (paid !== requested || account !== accounts.get(ref)),
      ),
      `seed ${seed}`,
    ).toEqual([]);
    // A node without a balance by then charges its own user's overrun, never another user's.
    expect(ends.filter(({ ref, account }) => ![accounts.get(ref), Account.overrun].includes(account))).toEqual([]);
    for (const id of [1, 2]) {
      const requested = ends.filter(({ ref }) => accounts.get(ref) === id).reduce((sum, one) => sum + one.asked, 0);
      const [row] = await site.rows<{ overrun: number }>('SELECT overrun FROM accounts WHERE id = $1', id);
      expect((await site.balance(id)) - (row?.overrun ?? 0), `seed ${seed}: balance of ${id}`).toBe(1000 - requested);
    }
  },
);

const fail = (): never => {
  throw new Error('no open request');
};
