/** Opens the database: a file with its PRAGMAs, or a server; the Kysely instance, in one place for every thread and process. */
import { dirname } from 'node:path';
import BetterSqlite, { type Database as RawDatabase } from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { AppError } from '../server/contract/errors.ts';
import type { Dialect } from './dialect.ts';
import type { DatabasePlace, PostgresPlace, SqlitePlace } from './place.ts';
import type { PostgresDatabase } from './postgres/open.ts';
import { keepPrivate } from './private-file.ts';
import type { Schema } from './schema/tables.ts';
import { sqliteDialect } from './sqlite/dialect.ts';
import { keepingStatements } from './sqlite/kept-statements.ts';

/** Either engine: `query` and `dialect` are all that repositories know of it. */
export type Database = SqliteDatabase | PostgresDatabase;

export interface SqliteDatabase {
  readonly engine: 'sqlite';
  readonly place: SqlitePlace;
  /** Whose disk it fills. */
  readonly folder: string | null;
  readonly dialect: Dialect;
  /** For services and repositories. */
  readonly query: Kysely<Schema>;
  /** Connection for reads that may take long, where the thread has other work; absent = `query`. */
  readonly reading?: Kysely<Schema>;
  /** The driver itself: prepared statements of the ledger, backup, PRAGMAs. Used inside `db/` only. */
  readonly raw: RawDatabase;
  /** What further connections to the same file are opened with. */
  readonly nativeBinding: string | undefined;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Path of the native addon when it does not lie in node_modules (compiled binary). */
  readonly nativeBinding?: string | undefined;
  readonly readonly?: boolean;
  /** Connections at most, where there are several. */
  readonly connections?: number | undefined;
}

/** Milliseconds a writer waits for another connection's transaction. Threads that serve requests never open a database. */
export const busyTimeoutMs = 10_000;

/** @throws the driver's error when the file cannot be opened or is not a database; AppError database_* when a server does not serve. */
export function openDatabase(place: string | SqlitePlace, options?: OpenOptions): SqliteDatabase;
export function openDatabase(place: PostgresPlace, options?: OpenOptions): Promise<PostgresDatabase>;
export function openDatabase(place: DatabasePlace, options?: OpenOptions): SqliteDatabase | Promise<PostgresDatabase>;
export function openDatabase(
  place: string | DatabasePlace,
  options: OpenOptions = {},
): SqliteDatabase | Promise<PostgresDatabase> {
  if (typeof place === 'string') return openFile(place, options);
  return place.engine === 'sqlite' ? openFile(place.file, options) : openServer(place, options);
}

/** Its driver is loaded where it is used. */
async function openServer(place: PostgresPlace, { readonly, connections }: OpenOptions): Promise<PostgresDatabase> {
  const { openPostgres } = await import('./postgres/open.ts');
  return openPostgres(place, { readonly, connections });
}

function openFile(file: string, options: OpenOptions): SqliteDatabase {
  if (options.readonly !== true) keepPrivate(file);
  const raw = openRaw(file, options);
  if (!options.readonly) {
    raw.pragma('journal_mode = WAL');
    // The driver's build defaults WAL to NORMAL, which may lose the last commits at power loss.
    raw.pragma('synchronous = FULL');
  }
  raw.pragma('foreign_keys = ON');
  raw.pragma('temp_store = MEMORY');
  // Each thread has its own, and it fills in the first quarter of an hour: 16 MB made neither bills nor lists faster.
  raw.pragma('cache_size = -4096');
  const query = new Kysely<Schema>({ dialect: new SqliteDialect({ database: keepingStatements(raw) }) });
  return {
    engine: 'sqlite',
    place: { engine: 'sqlite', file },
    folder: dirname(file),
    dialect: sqliteDialect,
    query,
    raw,
    nativeBinding: options.nativeBinding,
    async close() {
      await query.destroy();
      // A query builder that never ran a query has nothing to close.
      if (raw.open) raw.close();
    },
  };
}

/** @throws AppError driver_unusable where the system cannot load the addon; the driver's error. */
function openRaw(file: string, { nativeBinding, readonly = false }: OpenOptions): RawDatabase {
  try {
    return new BetterSqlite(file, {
      ...{ timeout: busyTimeoutMs, readonly },
      ...(nativeBinding === undefined ? {} : { nativeBinding }),
    });
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    throw code === 'ERR_DLOPEN_FAILED' ? new AppError('driver_unusable', { detail: message }, error) : error;
  }
}

/** The same database for reads that may take long: they do not hold up a thread that others need. Nothing is written with it. */
export const forReading = (database: Database): Database =>
  database.engine === 'sqlite' && database.reading !== undefined ? { ...database, query: database.reading } : database;

/** What only a file has: its driver, its path. @throws AppError sqlite_alone */
export function sqliteOf(database: Database): SqliteDatabase {
  if (database.engine !== 'sqlite') throw new AppError('sqlite_alone');
  return database;
}
