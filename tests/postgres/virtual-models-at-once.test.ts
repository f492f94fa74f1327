/** Two nodes that save virtual models at once: what either finds is what the other one left. */
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import { createChannels } from '../../server/domain/channels/service.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { createVirtualModels } from '../../server/domain/virtual-models/service.ts';
import { clear, pairs, runPair, type Saver } from '../support/virtual-models-at-once.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
let gate: Client;
let others: PostgresDatabase;
let here: Saver;
let there: Saver;
let channelId = 0;

const vault = createVault(Buffer.alloc(32, 7));
const saverOn = (database: PostgresDatabase): Saver => ({
  models: createVirtualModels({ database, now: Date.now }),
  channels: createChannels({
    ...{ database, vault, fetch, now: Date.now, automaticEnable: () => false },
    relayTest: () => Promise.reject(new Error('nothing is tested')),
    failureRules: () => ({ enabled: false, keywords: [] }),
  }),
});

/** Lets both sides come as far as they can before either goes on. */
async function meeting<Of>(work: () => Promise<Of>): Promise<Of> {
  await gate.query('BEGIN; LOCK TABLE virtual_models IN SHARE ROW EXCLUSIVE MODE');
  const running = work();
  await expect.poll(waiting).toBe(2);
  await gate.query('COMMIT');
  return running;
}
const waiting = async (): Promise<number> =>
  (
    await site.rows(
      "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'virtual_models'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
  ).length;

beforeAll(async () => {
  site = await openSite();
  others = await openPostgres({ engine: 'postgres', url: site.url }, { connections: 3 });
  gate = new Client({ connectionString: site.url });
  await gate.connect();
  [here, there] = [saverOn(site.database), saverOn(others)];
  const up = { type: 1, key: 'k', base_url: 'http://127.0.0.1:9' };
  await here.channels.create({ ...up, name: 'served', models: 'gpt-4o' });
  const [made] = await here.channels.create({ ...up, name: 'there', tag: 'there', models: 'gpt-4.1' });
  channelId = made?.id ?? 0;
});
afterAll(async () => {
  await gate.end();
  await others.close();
  await site.drop();
});
beforeEach(async () => {
  await site.rows("DELETE FROM channels WHERE tag = 'made'");
  await clear(here, channelId);
});
afterEach(() => gate.query('ROLLBACK'));

test.each(pairs(() => channelId))('of two nodes’ saves at once that come to $what, one is refused', async (pair) => {
  const codes = await runPair(pair, here, there, meeting);
  expect(codes.filter((code) => code === '')).toHaveLength(1);
  expect(pair.codes).toContain(codes.find((code) => code !== ''));
});

test('one that becomes a target at one node is not removed at the other, which looked before', async () => {
  const { id } = await here.models.create({ name: 'a', targets: [{ model: 'gpt-4o' }] });
  await gate.query('BEGIN; LOCK TABLE virtual_models IN SHARE ROW EXCLUSIVE MODE');
  // Who waits first goes first.
  const made = here.models.create({ name: 'b', targets: [{ model: 'a' }] });
  await expect.poll(waiting).toBe(1);
  const removed = there.models.remove(id);
  removed.catch(() => undefined);
  await expect.poll(waiting).toBe(2);
  await gate.query('COMMIT');
  await made;
  await expect(removed).rejects.toMatchObject({ code: 'virtual_model_used' });
  expect((await here.models.list()).map(({ name }) => name)).toEqual(['a', 'b']);
});
