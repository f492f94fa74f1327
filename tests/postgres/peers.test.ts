/** What several nodes of a site share on a real server: turns, kept items, who is there, what relays have learnt. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createJobLock } from '../../db/create-job-lock.ts';
import { createKeptItems } from '../../db/kept-items.ts';
import { nodesNow } from '../../db/postgres/account-limits.ts';
import { openLine } from '../../db/postgres/line.ts';
import { createMembers } from '../../db/postgres/members.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import type { NodeCount } from '../../server/contract/snapshot.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { createNodes } from '../../server/domain/nodes/service.ts';
import { verifyKey } from '../../server/domain/secrets/key-check.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { Limits } from '../../server/relay/admission/limits.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';
import type { HealthReport } from '../../server/relay/routing/health-report.ts';
import type { RelaySettings } from '../../server/relay/state/settings.ts';
import { type Peers, startPeers } from '../../server/threads/control/peer.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
const companies: Peers[] = [];

beforeAll(async () => {
  site = await openSite();
});
afterAll(async () => {
  for (const peers of companies) peers.stop();
  await Bun.sleep(200);
  await site.drop();
});
beforeEach(async () => {
  await site.rows('DELETE FROM jobs');
  await site.rows('DELETE FROM nodes');
});

const until = (is: () => boolean | Promise<boolean>) => expect.poll(is, { timeout: 60_000 }).toBe(true);

test('a job is done once, whichever nodes ask at the same moment', async () => {
  const nodes = ['a', 'b', 'c'].map((name) => createJobLock(site.database, name));
  let done = 0;
  let atOnce = 0;
  const work = async () => {
    expect(++atOnce).toBe(1);
    await Bun.sleep(50);
    done++;
    atOnce--;
  };
  const took = await Promise.all([...nodes, ...nodes].map((turns) => turns.take('sweep', 60_000, work)));
  expect(took.filter(Boolean)).toHaveLength(1);
  expect(done).toBe(1);
  expect(await nodes[0]?.take('sweep', 60_000, work)).toBe(false);
  expect(await nodes[0]?.take('another', 60_000, work)).toBe(true);
});

test('the node that ran a job last runs it again when it is due; another does when that one does not come, or died in the middle', async () => {
  const [a, b] = ['a', 'b'].map((name) => createJobLock(site.database, name));
  const work = async () => undefined;
  const later = (seconds: number) =>
    site.rows(
      'UPDATE jobs SET due = due - make_interval(secs => $1), held_until = held_until - make_interval(secs => $1)',
      seconds,
    );
  expect(await a?.take('sweep', 100_000, work)).toBe(true);
  await later(95);
  expect(await b?.take('sweep', 100_000, work)).toBe(false);
  expect(await a?.take('sweep', 100_000, work)).toBe(true);
  await later(145);
  expect(await b?.take('sweep', 100_000, work)).toBe(true);

  const hangs = Promise.withResolvers<void>();
  const hanging = a?.take('round', 0, () => hangs.promise);
  await until(async () => (await site.rows("SELECT 1 FROM jobs WHERE name = 'round'")).length === 1);
  expect(await b?.take('round', 0, work)).toBe(false);
  await later(31);
  expect(await b?.take('round', 0, work)).toBe(true);
  hangs.resolve();
  await hanging;
});

test('work that fails is reported, and its job lock is released', async () => {
  const turns = createJobLock(site.database, 'a');
  const fails = async () => {
    throw new Error('upstream');
  };
  await expect(turns.take('round', 0, fails)).rejects.toThrow('upstream');
  expect(await turns.take('round', 0, async () => undefined)).toBe(true);
});

test('an item that one node kept is found by another; each user has their own; the oldest of too many go', async () => {
  let now = 1_000_000;
  const limits = { perUser: 25, inAll: 1000, owners: 3 };
  const [one, other] = [0, 1].map(() => createKeptItems(site.database, () => now, limits));
  const item = (id: string, size = 10) => ({ id, sealed: 'x'.repeat(size) });
  await one?.keepItems(1, [item('a"\\,'), item('a"\\,', 12), item('b')], 1);
  expect(await other?.keptItems(1, ['a"\\,', 'b', 'c'])).toHaveLength(2);
  expect((await other?.keptItems(1, ['a"\\,']))?.[0]?.sealed).toHaveLength(12);
  expect(await other?.keptItems(2, ['b'])).toEqual([]);
  now += 61_000;
  await other?.keepItems(1, [item('c')], 1);
  expect((await one?.keptItems(1, ['a"\\,', 'b', 'c']))?.map(({ id }) => id).sort()).toEqual(['b', 'c']);
  now += 86_400_000;
  expect(await one?.keptItems(1, ['b', 'c'])).toEqual([]);
  await one?.sweepItems(1);
  expect(await site.rows('SELECT 1 FROM kept_items')).toEqual([]);
});

const addNode = (node: string, state = 'live', left = 0) =>
  site.rows<{ epoch: number }>(
    `INSERT INTO nodes (node, state, expires_at, version, left_at) VALUES ($1, $2, clock_timestamp() + interval '15 s', '1', $3) RETURNING epoch`,
    node,
    state,
    left,
  );

interface Joined {
  readonly peers: Peers;
  readonly received: HealthReport[];
  readonly changed: () => number;
  readonly counts: NodeCount[];
  readonly monoNow: () => number;
}

async function join(node: string, ahead: number): Promise<Joined> {
  const received: HealthReport[] = [];
  const counts: NodeCount[] = [];
  let changed = 0;
  const monoNow = () => performance.now() + ahead;
  const database = await openPostgres({ engine: 'postgres', url: site.url }, { connections: 2 });
  const peers = await startPeers({
    database,
    node,
    run: crypto.randomUUID(),
    timers: { ...systemTimers, monoNow },
    follows: () => '7',
    knownAt: () => monoNow() - 12,
    changed: () => void changed++,
    received: (message) => void received.push(message),
    nodes: (count) => void counts.push(count),
    stats: () => ({ relays: 3, waiting: 0, trouble: null }),
    report: () => undefined,
  });
  companies.push({
    ...peers,
    stop() {
      peers.stop();
      void database.close();
    },
  });
  return { peers, received, changed: () => changed, counts, monoNow };
}

test('what one machine learns of a channel the others know, whatever their clocks say; a change is heard; each says how it stands', async () => {
  await addNode('alpha');
  await addNode('beta');
  const [alpha, beta] = [await join('alpha', 0), await join('beta', 5_000_000)];
  // Both hear when their ears have heard themselves.
  await until(() => alpha.changed() > 0 && beta.changed() > 0);
  const coolUntil = alpha.monoNow() + 60_000;
  alpha.peers.broadcast({
    channels: [{ channelId: 4, coolUntil: [0, coolUntil], failures: 1, ejections: 2, ejectedUntil: 0, share: 0.25 }],
    pairs: [{ id: 4 * 2 ** 32 + 7, failures: 0, ejections: 1, ejectedUntil: coolUntil, share: 0, waitUntil: 0 }],
    served: [['1:gpt:conversation', 4, 2]],
    kept: [['resp_1', { channelId: 4, ownerId: 9 }]],
  });
  await until(() => beta.received.length > 0);
  const [message] = beta.received;
  expect(message?.channels[0]).toMatchObject({ channelId: 4, failures: 1, ejections: 2, ejectedUntil: 0, share: 0.25 });
  const [never = -1, cools = 0] = message?.channels[0]?.coolUntil ?? [];
  expect(never).toBe(0);
  expect(cools - beta.monoNow()).toBeGreaterThan(30_000);
  expect(cools - beta.monoNow()).toBeLessThanOrEqual(60_000);
  const [pair] = message?.pairs ?? [];
  expect(pair).toMatchObject({ id: 4 * 2 ** 32 + 7, failures: 0, ejections: 1, share: 0, waitUntil: 0 });
  expect((pair?.ejectedUntil ?? 0) - beta.monoNow()).toBeGreaterThan(30_000);
  expect((pair?.ejectedUntil ?? 0) - beta.monoNow()).toBeLessThanOrEqual(60_000);
  expect(message?.served).toEqual([['1:gpt:conversation', 4, 2]]);
  expect(message?.kept).toEqual([['resp_1', { channelId: 4, ownerId: 9 }]]);
  expect(alpha.received).toEqual([]);

  const before = beta.changed();
  await site.rows("INSERT INTO options (key, value, updated_at) VALUES ('heard', '1', 1)");
  await until(() => beta.changed() > before);

  await until(() => alpha.counts.some(({ recent }) => recent === 2));
  const nodes = createNodes(site.database);
  await until(async () =>
    (await nodes.list()).nodes.every(
      ({ relays: relayThreads, hears: isListening }) => relayThreads === 3 && isListening === true,
    ),
  );
  const { several, nodes: listed } = await nodes.list();
  expect(several).toBe(true);
  expect(
    listed.map(({ name, state, waiting, trouble: failure }) => ({ name, state, waiting, trouble: failure })),
  ).toEqual([
    { name: 'alpha', state: 'live', waiting: 0, trouble: null },
    { name: 'beta', state: 'live', waiting: 0, trouble: null },
  ]);
  expect(listed[0]?.news_ms).toBeGreaterThanOrEqual(12);
  expect(await site.rows("SELECT follows::text FROM nodes WHERE node = 'alpha'")).toEqual([{ follows: '7' }]);
});

test('limits are shared by all nodes that may admit a request and by those that lately could: no minute admits more than the limit', async () => {
  const stats = JSON.stringify({ relays: 1 });
  const members = createMembers(site.database);
  const [clock, settings] = [{ now: 1e9 }, { groupLimits: new Map(), modelRequests: null } as unknown as RelaySettings];
  const limits = { dayBudget: 0, monthBudget: 0, rpm: 10, tpm: 0, concurrency: 0 };
  const never = { at: 0, used: 0 };
  const token = { id: 9, userId: 3, name: 'k', limits, periods: { day: never, month: never } };
  const who = { user: { id: 3, group: 'default' }, token, group: 'default' } as unknown as Principal;
  let nodes = { live: 0, recent: 0 };
  const machine = () => {
    const own = new Limits({
      state: { settings },
      monoNow: () => clock.now,
      nodes: () => nodes,
    });
    return (): number => {
      for (let admitted = 0; ; admitted++) {
        try {
          own.enter(who, {}).ended(0, true);
        } catch {
          return admitted;
        }
      }
    };
  };
  /** What is let in in all, when everybody has looked. */
  const both = async (...machines: readonly (() => number)[]): Promise<number> => {
    nodes = await members.sharing();
    return machines.reduce((sum, admits) => sum + admits(), 0);
  };
  const [alpha, beta] = [machine(), machine()];
  for (const node of ['alpha', 'beta']) {
    await addNode(node);
    await site.rows('UPDATE nodes SET figures = $1', stats);
  }
  expect(await both(alpha)).toBe(5);
  await members.drain('alpha');
  clock.now += 30_000;
  // A draining node serves what comes, and what it admitted counts in the same minute.
  expect(await both(alpha, beta)).toBe(5);
  await site.rows("UPDATE nodes SET state = 'expired', left_at = 1 WHERE node = 'alpha'");
  clock.now += 20_000;
  expect(await both(beta)).toBe(0);
  // A command of the terminal was a node for a moment; a node started again is the same one.
  await addNode('visitor', 'expired', 1);
  await addNode('beta');
  expect(await members.sharing()).toEqual({ live: 1, recent: 2 });
  await site.rows("UPDATE nodes SET expires_at = clock_timestamp() - interval '61 s' WHERE node = 'alpha'");
  clock.now += 70_000;
  expect(await both(beta)).toBe(10);
});

test('requests under way are shared by the nodes that live, whatever their names were before, once each', async () => {
  const members = createMembers(site.database);
  const [first] = await addNode('alpha');
  for (const node of ['beta', 'gamma']) await addNode(node);
  for (const node of ['alpha', 'old']) await addNode(node, 'expired', 1);
  await site.rows('UPDATE nodes SET figures = $1', JSON.stringify({ relays: 1 }));
  expect(await members.sharing()).toEqual({ live: 3, recent: 4 });
  // One that was killed and started again has two rows that live for a while.
  await addNode('beta');
  expect(await members.sharing()).toEqual({ live: 3, recent: 4 });
  const line = await openLine({ engine: 'postgres', url: site.url });
  try {
    expect(await nodesNow(line, first?.epoch ?? 0)).toEqual({ state: 'live', count: 3 });
  } finally {
    line.close();
  }
});

test('a node that starts knows how many share before it serves anybody', async () => {
  await addNode('alpha');
  await addNode('beta');
  expect((await join('beta', 0)).counts).toEqual([{ live: 2, recent: 2 }]);
});

test('the first proves its key by sealing something, the others by reading it', async () => {
  const vault = createVault(Buffer.from('the key of this site'));
  await verifyKey(site.database, vault);
  const url = `${site.url}?options=-c%20default_transaction_read_only%3Don`;
  const reading = await openPostgres({ engine: 'postgres', url }, { connections: 1, readonly: true });
  try {
    await expect(reading.pool.query('DELETE FROM meta')).rejects.toThrow('read-only transaction');
    await verifyKey(reading, vault);
    await expect(verifyKey(reading, createVault(Buffer.from('the key of another')))).rejects.toMatchObject({
      code: 'secret_unreadable',
    });
  } finally {
    await reading.close();
  }
});

test('a flood of conversations is sent in few messages, and what is known of channels always', async () => {
  const { createHealthBroadcast } = await import('../../server/threads/control/health-broadcast.ts');
  const messages: string[] = [];
  const timers: (() => void)[] = [];
  const side = (from: string) =>
    createHealthBroadcast({
      from,
      notify: async (payload) => void messages.push(payload),
      monoNow: () => 0,
      wait: (_ms, done) => timers.push(done),
    });
  const [one, other] = [side('one'), side('other')];
  const word = { channelId: 1, coolUntil: [5], spentUntil: [], failures: 0, ejections: 0, ejectedUntil: 0, share: 0 };
  for (let n = 0; n < 5000; n++)
    one.broadcast({ channels: [word], pairs: [], served: [[`${n}:${'ü'.repeat(100)}`, 1]], kept: [] });
  one.broadcast({ channels: [], pairs: [], served: [['x'.repeat(20_000), 1]], kept: [] });
  expect(timers).toHaveLength(1);
  timers[0]?.();
  expect(messages).toHaveLength(16);
  expect(messages.every((text) => Buffer.byteLength(text) < 8000)).toBe(true);
  const received = messages.map((text) => other.receive(text));
  expect(received.flatMap((message) => message?.channels ?? [])).toEqual([word]);
  expect(received[0]?.served[0]?.[0]).toMatch(/^4999:/);
  expect(one.receive(messages[0] ?? '')).toBeNull();
});

test('a node is drained, and forgotten when it is gone; what it may still owe is given up only on purpose', async () => {
  const nodes = createNodes(site.database);
  const [row] = await addNode('alpha');
  await expect(nodes.drain('nobody')).rejects.toMatchObject({ code: 'node_unknown' });
  await nodes.drain('alpha');
  expect((await nodes.list()).nodes[0]?.state).toBe('draining');
  await expect(nodes.forget('alpha', 'write-off')).rejects.toMatchObject({ code: 'node_lives' });
  await site.rows("UPDATE nodes SET state = 'expired'");
  await site.rows(
    "INSERT INTO leases (kind, subject, epoch, amount) VALUES ('account', 5, $1, 30), ('token', 5, $1, 30)",
    row?.epoch,
  );
  expect((await nodes.list()).nodes[0]).toMatchObject({ state: 'gone', leases: 2, leased_quota: 30 });
  await expect(nodes.drain('alpha')).rejects.toMatchObject({ code: 'node_gone' });
  await expect(nodes.forget('alpha', 'none')).rejects.toMatchObject({ code: 'node_owes' });
  await nodes.forget('alpha', 'write-off');
  expect((await nodes.list()).nodes).toEqual([]);
  // It is forgotten.
  await expect(nodes.forget('alpha', 'write-off')).rejects.toMatchObject({ code: 'node_unknown' });
  await expect(nodes.drain('alpha')).rejects.toMatchObject({ code: 'node_unknown' });
  await site.rows('DELETE FROM leases');
  // Started again it is there again; ended in order it is not shown.
  await addNode('alpha');
  expect((await nodes.list()).nodes.map(({ state }) => state)).toEqual(['live']);
  await site.rows("UPDATE nodes SET state = 'expired', left_at = 5");
  expect((await nodes.list()).nodes).toEqual([]);
});

test('a node that is gone is forgotten when what it left open has had its time, and is there until then', async () => {
  const nodes = createNodes(site.database);
  const [row] = await addNode('alpha');
  await site.rows("UPDATE nodes SET state = 'expired', expires_at = clock_timestamp() - interval '20 s'");
  expect((await nodes.list()).nodes).toMatchObject([{ owes: true, forgotten: false, settles_seconds: null }]);
  await site.rows("INSERT INTO leases (kind, subject, epoch, amount) VALUES ('account', 5, $1, 30)", row?.epoch);
  const [open] = (await nodes.list()).nodes;
  expect(open?.settles_seconds).toBeGreaterThan(500);
  expect(open?.settles_seconds).toBeLessThanOrEqual(580);
  await nodes.forget('alpha', 'when-settled');
  // Nothing of it is settled sooner because of that.
  expect(await site.rows("SELECT 1 FROM nodes WHERE expires_at < clock_timestamp() - interval '600 s'")).toEqual([]);
  expect((await nodes.list()).nodes).toMatchObject([{ state: 'gone', forgotten: true }]);
  await site.rows('DELETE FROM leases');
  expect((await nodes.list()).nodes).toEqual([]);
});
