/** A server whose standby has to confirm: what is on its own disk alone is not durable, whatever COMMIT answers. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PostgresServer, postgresPrograms, startPostgres } from '../../scripts/servers/postgres.ts';
import { type Replica, startReplica } from '../../scripts/servers/replica.ts';
import { grant, settle } from '../ledger/support.ts';
import { openSite, type Site, type TestNode } from './site.ts';

let server: PostgresServer;
let site: Site;
let node: TestNode;
let standby: Replica | null = null;

beforeAll(async () => {
  const bin = postgresPrograms();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  // A commit waits for the standby only where it asks for that itself.
  server = await startPostgres(bin, "synchronous_standby_names = 'ANY 1 (walreceiver)'\nsynchronous_commit = local");
}, 120_000);
afterAll(() => server.remove());
beforeEach(async () => {
  site = await openSite(server.url);
  await site.addUsers(1);
  node = site.node();
});
afterEach(async () => {
  await standby?.detach();
  standby = null;
  expect(await site.violations()).toEqual([]);
  await site.drop();
});

/** An operator, or a server that is stopped, ends the wait: the commit is done here, and COMMIT succeeds. */
const endWait = () =>
  expect
    .poll(
      async () =>
        (
          await site.rows<{ ended: boolean }>(
            "SELECT pg_cancel_backend(pid) AS ended FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'gateway ledger'",
          )
        ).map(({ ended }) => ended),
      { timeout: 60_000 },
    )
    .toEqual([true]);

test('exactness 13: an end whose standby did not confirm is not in the books, and counts once when it has', async () => {
  const commands = [grant('g', 1, 100), settle('r', 1, 7)];
  for (let attempts = 0; attempts < 2; attempts++) {
    const applied = node.store.apply(commands).then(
      () => 'durable',
      (error: unknown) => (node.store.isUncertain(error) ? 'unresolved' : String(error)),
    );
    // The commit itself at first, then the look that asks what became of it.
    await endWait();
    expect(await applied).toBe('unresolved');
  }
  // Kept all the same: who dies now sends it again, and it counts once.
  expect(node.batches.flatMap((batch) => batch.commands)).toEqual(commands);
  standby = await startReplica(server);
  const { results } = await node.store.apply(commands);
  expect(results.map(({ status }) => status)).toEqual(['done', 'done']);
  expect(node.epochs).toHaveLength(1);
  expect(await site.balance(1)).toBe(93);
}, 180_000);
