/** Nodes that settle at the same moment: none waits for another but where both change the same user, and none stops all by telling of it. */

import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LeaseMove } from '../../server/billing/ports.ts';
import { grant, settle } from '../ledger/support.ts';
import { openSite, type Site, type TestNode } from './site.ts';

let site: Site;
const clients: Client[] = [];

beforeEach(async () => {
  site = await openSite();
  await site.addUsers(1, 2);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  expect(await site.violations()).toEqual([]);
  await site.drop();
});

const connected = async (): Promise<Client> => {
  const client = new Client({ connectionString: site.url });
  await client.connect();
  clients.push(client);
  return client;
};

/** Processes of nodes that wait for a lock of another. */
const waiting = () =>
  site.rows(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'gateway ledger' AND pg_blocking_pids(pid) <> '{}'",
  );

const statuses = async ({ store }: TestNode, ...commands: Parameters<TestNode['store']['apply']>[0]) =>
  (await store.apply(commands)).results.map(({ status }) => status);

test('exactness 11: a node that stands still before its COMMIT delays no node that settles for others', async () => {
  const [status, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let stands = false;
  const slow = site.node({
    name: 'slow',
    async committing() {
      if (!stands) return;
      status.resolve();
      await gate.promise;
    },
  });
  const quick = site.node({ name: 'quick' });
  await statuses(slow, grant('g', 1, 100), grant('h', 2, 100));
  await quick.store.probe();
  stands = true;
  // The same channel, model, hour and revenue; another user.
  const stood = slow.store.apply([settle('r', 1, 7)]);
  await status.promise;
  const settled = statuses(quick, { ...settle('q', 2, 9), channelId: 1 });
  let answer: unknown = null;
  void settled.then((outcome) => {
    answer = outcome;
  });
  await expect
    .poll(async () => (answer === null && (await waiting()).length > 0 ? 'waits' : answer), { timeout: 60_000 })
    .not.toBeNull();
  expect(answer).toEqual(['done']);
  gate.resolve();
  await stood.catch(() => undefined);
  // A node that stands still for too long is disconnected, and retries.
  await expect
    .poll(() => statuses(slow, settle('r', 1, 7)).catch(() => []), { timeout: 60_000 })
    .toEqual([expect.stringMatching(/^(done|duplicate)$/)]);
  expect([await site.balance(1), await site.balance(2)]).toEqual([93, 91]);
});

const leaseOf = (account: number): LeaseMove => ({
  ...{ type: 'acquire', account, token: account, need: 5, tokenNeed: 5, use: 0, nodes: 1 },
});

test.each([
  ['a batch', ({ store }: TestNode) => store.apply([settle('r', 2, 1), settle('q', 1, 1)])],
  ['leases', ({ store }: TestNode) => store.move([leaseOf(2), leaseOf(1)], store.epoch())],
])(
  'exactness 11: %s locks accounts by their numbers, then keys: a transaction that waits for the first holds none of the others',
  async (_what, work) => {
    const node = site.node();
    await statuses(node, grant('g', 1, 100), grant('h', 2, 100));
    const holder = await connected();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM accounts WHERE id = 1 FOR UPDATE');
    const done = work(node);
    await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBe(1);
    const free = (table: string) =>
      site.rows(`SELECT id FROM ${table} WHERE id IN (1, 2) ORDER BY id FOR UPDATE SKIP LOCKED`);
    expect([await free('accounts'), await free('tokens')]).toEqual([[{ id: 2 }], [{ id: 1 }, { id: 2 }]]);
    await holder.query('COMMIT');
    await done;
  },
);

test('exactness 11: a transaction that settles sends no NOTIFY: it makes all commits of a server follow one another', async () => {
  const sent: string[] = [];
  const node = site.node({ sending: (statement) => void sent.push(statement) });
  await statuses(node, grant('g', 1, 100));
  await node.store.move([leaseOf(1)], node.store.epoch());
  const listener = await connected();
  const received: string[] = [];
  listener.on('notification', ({ channel }) => void received.push(channel));
  for (const channel of ['gateway_changes', 'gateway_nodes', 'gateway_heard', 'the_end'])
    await listener.query(`LISTEN ${channel}`);
  expect(await statuses(node, settle('r', 1, 7), settle('q', 2, 0))).toEqual(['done', 'done']);
  await site.rows('NOTIFY the_end');
  await expect.poll(() => received.includes('the_end'), { timeout: 60_000 }).toBe(true);
  expect(received).toEqual(['the_end']);
  expect(sent.filter((text) => /notify/i.test(text))).toEqual([]);
  expect(sent.filter((text) => text.includes('INSERT INTO ends'))).toHaveLength(1);
});
