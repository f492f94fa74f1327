/** News on a real server: many writers, long transactions, a database that comes back as another. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createChangeStream } from '../../db/change-stream.ts';
import { createPostgresChangeStream } from '../../db/postgres/change-stream.ts';
import {
  createNotificationListener,
  type ListenerConnection,
  type NotificationListener,
  notifyOver,
  openListenerConnection,
} from '../../db/postgres/notifications.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import type { Feed } from '../../db/repositories/changes.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../../scripts/servers/postgres.ts';
import { randomOf } from '../support/random.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
/** What may be forgotten waits for the oldest transaction of all databases of a server, one of its own among them. */
let server: PostgresServer;
const opened: Client[] = [];
const ears: NotificationListener[] = [];

function programs(): string {
  const bin = postgresPrograms();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  return bin;
}

beforeAll(async () => {
  server = await startPostgres(programs(), 'autovacuum = off');
  site = await openSite(server.url);
});
afterAll(async () => {
  for (const ear of ears) ear.close();
  for (const client of opened) await client.end().catch(() => undefined);
  await site.drop();
  server.remove();
});

async function session(url = site.url): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  opened.push(client);
  return client;
}

const write = (client: Pick<Client, 'query'>, key: string) =>
  client.query(
    'INSERT INTO options (key, value, updated_at) VALUES ($1, $1, 1) ON CONFLICT (key) DO UPDATE SET value = options.value',
    [key],
  );

interface Reported {
  readonly keys: string[];
  everything: number;
}

/** As the publisher asks: until there is nothing. */
async function follow(feed: Feed, from: number) {
  let seq = from;
  const check = async (): Promise<Reported> => {
    const reported: Reported = { keys: [], everything: 0 };
    for (let changes = await feed.after(seq); changes !== null; changes = await feed.after(seq)) {
      if (reported.keys.length > 2000) throw new Error('the same changes were reported again and again');
      if (changes.changes === null) {
        reported.everything++;
        seq = await feed.last();
        continue;
      }
      seq = changes.seq;
      reported.keys.push(...changes.changes.map(({ entity_id }) => entity_id));
    }
    return reported;
  };
  return { look: check };
}

async function follower(place: Pick<Site, 'database'> = site) {
  const feed = createChangeStream(place.database);
  return { feed, ...(await follow(feed, await feed.last())) };
}

test('section 8: changes that commit out of the order of their numbers are reported, each once', async () => {
  const [one, other] = [await session(), await session()];
  const { look: check } = await follower();
  // The lower number, and the higher transaction; and the other way round.
  await one.query('BEGIN');
  await write(one, 'lower number');
  await write(other, 'higher number');
  expect(await check()).toEqual({ keys: ['higher number'], everything: 0 });
  await one.query('COMMIT');
  expect(await check()).toEqual({ keys: ['lower number'], everything: 0 });

  await one.query('BEGIN');
  await one.query('SELECT pg_current_xact_id()');
  await other.query('BEGIN');
  await write(other, 'first');
  await write(one, 'second');
  await one.query('COMMIT');
  expect((await check()).keys).toEqual(['second']);
  await other.query('COMMIT');
  expect((await check()).keys).toEqual(['first']);
  expect((await check()).keys).toEqual([]);
});

test('a change that was rolled back is no update, and hides none', async () => {
  const one = await session();
  const { look: check } = await follower();
  await one.query('BEGIN');
  await write(one, 'never');
  await write(site.database.pool, 'beside it');
  await one.query('ROLLBACK');
  await write(site.database.pool, 'after it');
  expect((await check()).keys.sort()).toEqual(['after it', 'beside it']);
});

test('what other nodes may not have read goes back to where the slowest stands that may serve, and no further', async () => {
  const { feed, look: check } = await follower();
  await write(site.database.pool, 'read by all');
  await check();
  const stands = feed.position();
  const keys = async () => (await feed.unread('starts')).map(({ entity, entity_id }) => [entity, entity_id]);
  expect(await keys()).toEqual([]);
  const node = (name: string, state: string, position: string | null, ago: number, left = 0) =>
    site.database.pool.query(
      `INSERT INTO nodes (node, state, follows, expires_at, left_at, version)
        VALUES ($1, $2, $3::xid8, clock_timestamp() - make_interval(secs => $4), $5, '1')`,
      [name, state, position ?? '0', ago, left],
    );
  await write(site.database.pool, 'news');
  await check();
  const now = feed.position();
  await node('reads', 'live', now, -15);
  // None of these serves any more, and one is the node that asks.
  await node('starts', 'live', null, -15);
  await node('left', 'expired', stands, 5, 1);
  await node('long gone', 'expired', stands, 901);
  expect(await keys()).toEqual([]);
  await node('silent', 'expired', stands, 60);
  expect(await keys()).toEqual([['options', 'news']]);
  await site.database.pool.query("DELETE FROM nodes WHERE node = 'silent'");
  await node('never said it', 'expired', null, 60);
  expect(await keys()).toContainEqual(['options', 'read by all']);
  await site.database.pool.query("DELETE FROM nodes WHERE node = 'never said it'");
  await node('cut off', 'live', stands, -15);
  expect(await keys()).toEqual([['options', 'news']]);
  await site.database.pool.query('DELETE FROM nodes');
});

test('section 8: a long foreign transaction delays no news; only what may be forgotten waits, and who holds it is named', async () => {
  const other = new URL(site.url);
  other.pathname = '/postgres';
  const foreign = await session(other.href);
  await foreign.query("SET application_name = 'a long report'");
  await foreign.query('BEGIN');
  await foreign.query('SELECT pg_current_xact_id()');
  const { feed, look: check } = await follower();
  const low = feed.position();
  for (let n = 0; n < 20; n++) {
    await write(site.database.pool, `long ${n}`);
    expect(await check()).toEqual({ keys: [`long ${n}`], everything: 0 });
  }
  expect(feed.position()).toBe(low ?? feed.position());
  await foreign.query('COMMIT');
  await check();
  const before = feed.position();
  await write(site.database.pool, 'over');
  await check();
  expect(BigInt(feed.position() ?? 0)).toBeGreaterThan(BigInt(before ?? 0));
});

test('section 8: 1,000 changes by concurrent writers with long transactions: none missed on three nodes, each reported by the first read that began after its commit', async () => {
  const random = randomOf(16);
  const nodes = await Promise.all([follower(), follower(), follower()]);
  const committed = new Set<string>();
  const seen = nodes.map(() => new Map<string, number>());
  let writing = true;
  const everything: number[] = [];
  const missed: string[] = [];
  const ask = async (index: number): Promise<void> => {
    const before = [...committed];
    const reported = await nodes[index]?.look();
    const own = seen[index];
    for (const key of reported?.keys ?? []) own?.set(key, (own.get(key) ?? 0) + 1);
    missed.push(...before.filter((key) => own?.has(key) !== true));
    everything.push(reported?.everything ?? 0);
  };
  const reading = nodes.map(async (_, index) => {
    while (writing) {
      await ask(index);
      await Bun.sleep(20);
    }
    await ask(index);
  });
  const writers = Array.from({ length: 10 }, async (_, writer) => {
    const client = await session();
    for (let n = 0; n < 25; n++) {
      await client.query('BEGIN');
      const keys = Array.from({ length: 4 }, (_, part) => `w${writer}-${n}-${part}`);
      for (const key of keys) {
        await write(client, key);
        if (random() < 0.1) await Bun.sleep(random() * 60);
      }
      // Some stay open long after others have come and gone.
      if (random() < 0.05) await Bun.sleep(700);
      await client.query('COMMIT');
      for (const key of keys) committed.add(key);
    }
  });
  await Promise.all(writers);
  writing = false;
  await Promise.all(reading);
  expect(committed.size).toBe(1000);
  expect(missed).toEqual([]);
  for (const each of seen) {
    expect(each.size).toBe(1000);
    expect([...each.values()].every((times) => times === 1)).toBe(true);
  }
  expect(everything.every((times) => times === 0)).toBe(true);
});

test('changes that were not processed are reported again; more than fits is reported in parts', async () => {
  const feed = createPostgresChangeStream(site.database, 3);
  const seq = await feed.last();
  expect(await feed.after(seq)).toBeNull();
  for (let n = 0; n < 7; n++) await write(site.database.pool, `part ${n}`);
  const first = await feed.after(seq);
  expect(first?.changes).toHaveLength(3);
  expect(await feed.after(seq)).toEqual(first);
  const keys: string[] = [];
  let at = seq;
  for (let changes = await feed.after(at); changes !== null; changes = await feed.after(at)) {
    at = changes.seq;
    keys.push(...(changes.changes ?? []).map(({ entity_id }) => entity_id));
  }
  expect(keys.sort()).toEqual(Array.from({ length: 7 }, (_, n) => `part ${n}`));
});

test('everything that was to be read and was not is to be read again', async () => {
  const feed = createChangeStream(site.database);
  const seq = await feed.last();
  // Reading the rows failed: no change was processed.
  expect((await feed.after(seq - 1))?.changes).toBeNull();
  expect(await feed.after(seq)).toBeNull();
});

const liveNode = (epoch: number, follows: string, state = 'live') =>
  site.rows(
    `INSERT INTO nodes (epoch, state, expires_at, node, follows) VALUES ($1, $2, now() + interval '1 hour', $3, $4::xid8)
     ON CONFLICT (epoch) DO UPDATE SET state = excluded.state, follows = excluded.follows`,
    epoch,
    state,
    `n${epoch}`,
    follows,
  );
const kept = async () => Number((await site.rows<{ n: number }>('SELECT count(*) AS n FROM changes'))[0]?.n);

test('only what every living node has seen is forgotten; a node that was taken for dead reads everything', async () => {
  const [quick, slow] = [await follower(), await follower()];
  await quick.look();
  await slow.look();
  await liveNode(901, quick.feed.position() ?? '0');
  await liveNode(902, slow.feed.position() ?? '0');
  await write(site.database.pool, 'not seen by the slow');
  await quick.look();
  await liveNode(901, quick.feed.position() ?? '0');
  await quick.feed.trim();
  expect((await slow.look()).keys).toEqual(['not seen by the slow']);

  await write(site.database.pool, 'lost to the slow');
  await quick.look();
  await liveNode(901, quick.feed.position() ?? '0');
  await liveNode(902, '0', 'expired');
  await quick.feed.trim();
  expect(await kept()).toBe(0);
  expect((await slow.look()).everything).toBe(1);
  expect(await slow.look()).toEqual({ keys: [], everything: 0 });
  expect((await quick.look()).everything).toBe(0);
  // A node that has just come has read nothing yet.
  await write(site.database.pool, 'before the new one');
  await liveNode(903, '0');
  await quick.look();
  await liveNode(901, quick.feed.position() ?? '0');
  await quick.feed.trim();
  expect(await kept()).toBe(1);
  await site.rows('DELETE FROM nodes');
});

test('numbers that a copy brought from another server stall nothing', async () => {
  await site.rows("INSERT INTO changes (xact, entity, entity_id) VALUES ('999999999999', 'options', 'foreign')");
  await site.rows("UPDATE feed SET forgotten = '999999999999'");
  const { look: check } = await follower();
  await write(site.database.pool, 'own');
  expect(await check()).toEqual({ keys: ['own'], everything: 0 });
  expect(await check()).toEqual({ keys: [], everything: 0 });
});

test('2.3: a server that was started again may have another past: everything is read', async () => {
  const own = await startPostgres(programs());
  try {
    const database = await openPostgres({ engine: 'postgres', url: own.url });
    const { migratePostgres } = await import('../../db/postgres/migrate.ts');
    await migratePostgres(database);
    const node = await follower({ database });
    await write(database.pool, 'before');
    expect((await node.look()).keys).toEqual(['before']);
    own.stop('immediate');
    await expect(node.look()).rejects.toThrow();
    own.start();
    expect((await node.look()).everything).toBe(1);
    expect(await node.look()).toEqual({ keys: [], everything: 0 });
    await database.close();
  } finally {
    own.remove();
  }
});

async function receivedBy(connect: () => Promise<ListenerConnection>) {
  const received: string[] = [];
  let back = 0;
  const ear = createNotificationListener({
    connect,
    notify: notifyOver(site.database.pool),
    channels: ['gateway_changes'],
    receive: (channel, payload) => void received.push(`${channel} ${payload}`),
    back: () => void back++,
    name: Math.random().toString(36).slice(2),
    wait: (ms) => Bun.sleep(Math.min(ms, 300)),
  });
  ears.push(ear);
  return { ear, received, times: () => back };
}

const until = (is: () => boolean) => expect.poll(is, { timeout: 60_000 }).toBe(true);

test('a change is heard by itself; an ear whose line breaks hears again, and asks what it missed', async () => {
  const lines: ListenerConnection[] = [];
  const { ear, received, times } = await receivedBy(async () => {
    const line = await openListenerConnection({ engine: 'postgres', url: site.url });
    lines.push(line);
    return line;
  });
  await until(() => ear.isListening());
  await write(site.database.pool, 'heard');
  await until(() => received.length > 0);
  expect(received[0]).toBe('gateway_changes ');
  await site.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gateway news'");
  await until(() => times() === 2 && ear.isListening());
  expect(lines).toHaveLength(2);
});

test('section 15: behind a pooler that lends connections by the transaction nothing is heard, and it says so', async () => {
  const { ear, times } = await receivedBy(async () => {
    const line = await openListenerConnection({ engine: 'postgres', url: site.url });
    return { ...line, onNotice: () => undefined };
  });
  await Bun.sleep(1000);
  expect(ear.isListening()).toBe(false);
  expect(times()).toBe(0);
});
