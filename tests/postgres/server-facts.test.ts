import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serverStatus } from '../../db/postgres/server-status.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site.drop());

const details = (now = Date.now()) => serverStatus(site.database, now);

test('a server of Debian is described as it is', async () => {
  expect(await details()).toMatchObject({
    fsync: 'on',
    isolation: 'read committed',
    standbyNames: '',
    standbys: 0,
    isListening: true,
    direct: false,
    local: true,
    monthsMissing: [],
    unassignedLogs: 0,
    liveNodes: 0,
  });
  const { schema, bytes, connections, maxConnections } = await details();
  expect(schema).toMatch(/^\d{4}-/);
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(connections).toBeGreaterThan(0);
  expect(maxConnections).toBeGreaterThan(connections);
});

test('a clock that is wrong shows', async () => {
  expect(Math.round((await details(Date.now() + 3_600_000)).clockLeadMs / 60_000)).toBe(60);
});

test('the session that keeps a transaction open is named, in another database too', async () => {
  const address = new URL(site.url);
  address.pathname = '/postgres';
  const client = new Client({ connectionString: address.href, application_name: 'forgotten' });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  try {
    // Of everything that runs on this server it need not be the oldest.
    const { rows } = await site.database.pool.query<{ n: number }>(
      "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND application_name = 'forgotten'",
    );
    expect(rows[0]?.n).toBe(1);
    expect((await details()).oldest).toMatchObject({ pid: expect.any(Number), seconds: expect.any(Number) });
  } finally {
    await client.query('ROLLBACK');
    await client.end();
  }
});

test('a month that is missing is named, and rows that lie in none are counted', async () => {
  const next = new Date();
  const { rows } = await site.database.pool.query<{ name: string }>(
    "SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'logs'::regclass AND c.relname <> 'logs_rest' ORDER BY 1",
  );
  const [thisMonth = ''] = rows.map(({ name }) => name);
  expect(thisMonth).toContain(String(next.getUTCFullYear()));
  await site.rows(`DROP TABLE ${thisMonth}`);
  await site.rows('INSERT INTO logs (created_at, type, user_id) VALUES ($1, 1, 1)', Math.floor(Date.now() / 1000));
  expect(await details()).toMatchObject({ monthsMissing: [thisMonth], unassignedLogs: 1 });
});
