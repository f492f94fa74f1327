/** State of a PostgreSQL server: settings that the ledger depends on, and limits that are nearly reached. */
import { Client } from 'pg';
import type { ServerStatus } from '../server-status.ts';
import { monthOf } from './months.ts';
import { type PostgresDatabase, readAsLibpq } from './open.ts';

type Facts = Omit<
  ServerStatus,
  | 'isListening'
  | 'direct'
  | 'monthsMissing'
  | 'unassignedLogs'
  | 'liveNodes'
  | 'versions'
  | 'oldest'
  | 'schema'
  | 'clockLeadMs'
> & { readonly clockMs: number };

/** What the server says of itself, each under the name of its field. */
const facts: Readonly<Record<keyof Facts, string>> = {
  version: "current_setting('server_version')",
  fsync: "current_setting('fsync')",
  fullPages: "current_setting('full_page_writes')",
  autovacuum: "current_setting('autovacuum')",
  isolation: "current_setting('default_transaction_isolation')",
  standbyNames: "current_setting('synchronous_standby_names')",
  maxConnections:
    "current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint",
  connections: "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')",
  ownConnections:
    "(SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'gateway%' AND datname = current_database())",
  standbys: '(SELECT count(*) FROM pg_stat_replication)',
  syncStandbys: "(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))",
  hiddenStandbys: '(SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL)',
  encrypted: 'coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)',
  local: "coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true)",
  clockMs: 'extract(epoch FROM clock_timestamp())::double precision * 1000',
  bytes: 'pg_database_size(current_database())',
};
const settings = `SELECT ${Object.entries(facts)
  .map(([name, value]) => `${value} AS "${name}"`)
  .join(', ')}`;

const months = `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'logs'::regclass`;
const unassignedLogsQuery = 'SELECT count(*) AS n FROM (SELECT 1 FROM logs_rest LIMIT 1000) rest';
const nodes = `SELECT count(*) FILTER (WHERE state = 'live') AS live,
  count(DISTINCT version) FILTER (WHERE state = 'live') AS versions FROM nodes`;
const oldest = `SELECT pid, coalesce(application_name, '') AS name, coalesce(datname, '') AS database,
  extract(epoch FROM clock_timestamp() - xact_start)::bigint AS seconds
  FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1`;
const schema = 'SELECT name FROM gateway_migrations ORDER BY name DESC LIMIT 1';

const listenMs = 2000;
const monthSeconds = 31 * 86_400;

/** Whether a listening session receives its own notification; behind a pooler that lends connections by the transaction it does not. */
async function isListening({ pool, place }: PostgresDatabase): Promise<boolean> {
  const client = new Client({
    connectionString: readAsLibpq(place.direct ?? place.url),
    application_name: 'gateway doctor',
  });
  client.on('error', () => undefined);
  const channel = `gateway_doctor_${process.pid}`;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), listenMs);
  try {
    client.on('notification', () => resolve(true));
    await client.connect();
    await client.query(`LISTEN ${channel}`);
    await pool.query('SELECT pg_notify($1, $2)', [channel, '']);
    return await promise;
  } finally {
    clearTimeout(timer);
    await client.end().catch(() => undefined);
  }
}

/** @param listens whether a listening session receives a notification. */
export async function serverStatus(
  database: PostgresDatabase,
  now: number,
  listens = isListening,
): Promise<ServerStatus> {
  const one = async <Row extends object>(text: string): Promise<Row | undefined> =>
    (await database.pool.query<Row>(text)).rows[0];
  const startedAt = performance.now();
  const found = await one<Facts>(settings);
  if (found === undefined) throw new Error('the server does not say what it is');
  // The answer is assumed to have been on its way for half of the time.
  const clockLeadMs = now + (performance.now() - startedAt) / 2 - found.clockMs;
  const there = new Set((await database.pool.query<{ name: string }>(months)).rows.map(({ name }) => name));
  const seconds = Math.floor(found.clockMs / 1000);
  const expected = [monthOf(seconds), monthOf(seconds + monthSeconds)].map(({ table }) => table);
  const living = await one<{ live: number; versions: number }>(nodes);
  const { clockMs: _clock, ...rest } = found;
  return {
    ...rest,
    clockLeadMs,
    isListening: await listens(database),
    direct: database.place.direct !== undefined,
    monthsMissing: expected.filter((name) => !there.has(name)),
    unassignedLogs: (await one<{ n: number }>(unassignedLogsQuery))?.n ?? 0,
    liveNodes: living?.live ?? 0,
    versions: living?.versions ?? 0,
    oldest: (await one<NonNullable<ServerStatus['oldest']>>(oldest)) ?? null,
    schema: (await one<{ name: string }>(schema))?.name ?? '',
  };
}
