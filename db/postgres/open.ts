/** Opens a PostgreSQL database: a bounded pool with the same value types as SQLite, and the checks before its first use. */
import { HandleEmptyInListsPlugin, Kysely, PostgresDialect, replaceWithNoncontingentExpression } from 'kysely';
import { type Client, Pool, type PoolConfig, types } from 'pg';
import { AppError } from '../../server/contract/errors.ts';
import type { Dialect } from '../dialect.ts';
import { type PostgresPlace, placeName } from '../place.ts';
import type { Schema } from '../schema/tables.ts';
import { postgresDialect } from './dialect.ts';
import { errorFor } from './failures.ts';
import { withoutNul } from './text.ts';

export interface PostgresDatabase {
  readonly engine: 'postgres';
  readonly dialect: Dialect;
  /** For services and repositories. */
  readonly query: Kysely<Schema>;
  /** The driver itself. Used inside `db/` only. */
  readonly pool: Pool;
  readonly place: PostgresPlace;
  /** None of ours: its files lie elsewhere. */
  readonly folder: null;
  close(): Promise<void>;
}

export interface PostgresOptions {
  /** Connections at most. */
  readonly connections?: number | undefined;
  /** Name of the connections in `pg_stat_activity`. */
  readonly name?: string | undefined;
  /** A server that only reads will do. */
  readonly readonly?: boolean | undefined;
}

const defaultConnections = 8;
const connectWithinMs = 10_000;
const oldestVersion = 150_000;

const int8 = 20;
const numeric = 1700;
/** Sums of whole numbers below 2^53, as everything here is. */
const asNumber = (text: string): number => Number(text);
export const parsers: PoolConfig['types'] = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 || oid === numeric ? asNumber : types.getTypeParser(oid, format ?? 'text'),
};

/** `sslmode` means what it means to libpq: the driver's own reading verifies where libpq does not. */
export function readAsLibpq(url: string): string {
  const parts = URL.parse(url);
  if (parts === null) throw new AppError('database_address', { detail: 'URL' });
  if (!parts.searchParams.has('uselibpqcompat')) parts.searchParams.set('uselibpqcompat', 'true');
  return parts.href;
}

/** Ends a connection without a word to its server, which may be frozen. Types do not know the socket. */
export const cutConnection = (client: Client): void =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();

/** Connects to nothing yet. */
export function createPool(url: string, options: PostgresOptions = {}): Pool {
  const pool = new Pool({
    connectionString: readAsLibpq(url),
    max: options.connections ?? defaultConnections,
    connectionTimeoutMillis: connectWithinMs,
    keepAlive: true,
    application_name: options.name ?? 'gateway',
    types: parsers,
    // A connection that is in use waits for nothing else: a stalled transaction belongs to a stalled process. Set
    // after connecting, because PgBouncer rejects clients that ask for it in the startup message.
    onConnect: async (client) => void (await client.query("SET idle_in_transaction_session_timeout = '60s'")),
  });
  // A connection that breaks while idle is replaced at the next use.
  pool.on('error', () => undefined);
  // One that breaks in use fails its next query; without another listener the error event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return withoutNul(pool);
}

interface ServerInfo {
  readonly version: number;
  readonly words: string;
  readonly encoding: string;
  readonly standby: boolean;
  readonly readonly: string;
}

/** @throws AppError database_* with the cause and the remedy. */
async function check(pool: Pool, place: PostgresPlace, options: PostgresOptions): Promise<void> {
  const name = placeName(place);
  const info = await pool
    .query<ServerInfo>(
      `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS words,
        current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
        current_setting('default_transaction_read_only') AS readonly`,
    )
    .then(({ rows }) => rows[0])
    .catch((error: unknown) => {
      throw errorFor(error, place);
    });
  if (info === undefined) throw new AppError('database_address', { detail: name });
  if (info.version < oldestVersion) throw new AppError('database_old', { name, version: info.words });
  if (info.encoding !== 'UTF8') throw new AppError('database_encoding', { name, encoding: info.encoding });
  if (options.readonly !== true && (info.standby || info.readonly === 'on'))
    throw new AppError('database_read_only', { name });
}

/** @throws AppError database_unreachable and its relatives. */
export async function openPostgres(place: PostgresPlace, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const pool = createPool(place.url, options);
  try {
    await check(pool, place, options);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return overPool(pool, place);
}

/** Anything that pools connections as `pg` does. */
export function overPool(pool: Pool, place: PostgresPlace): PostgresDatabase {
  const query = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    // `IN ()` is a mistake to PostgreSQL and nothing to SQLite.
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  });
  return {
    engine: 'postgres',
    dialect: postgresDialect,
    query,
    pool,
    place,
    folder: null,
    async close() {
      await query.destroy();
      // Kysely ends the pool only when it has used it.
      if (!pool.ended) await pool.end();
    },
  };
}
