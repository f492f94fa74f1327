/** Opens the database file: path, PRAGMAs and the Kysely instance, in one place for every thread and process. */
import BetterSqlite, { type Database as RawDatabase } from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { keepPrivate } from './private-file.ts';
import type { Schema } from './schema.ts';

export interface Database {
  /** For services and repositories. */
  readonly query: Kysely<Schema>;
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
}

/** Milliseconds a writer waits for another connection's transaction. Threads that serve requests never open a database. */
const busyTimeoutMs = 10_000;

/** @throws the driver's error when the file cannot be opened or is not a database. */
export function openDatabase(file: string, options: OpenOptions = {}): Database {
  if (options.readonly !== true) keepPrivate(file);
  const raw = new BetterSqlite(file, {
    timeout: busyTimeoutMs,
    readonly: options.readonly ?? false,
    ...(options.nativeBinding === undefined ? {} : { nativeBinding: options.nativeBinding }),
  });
  if (!options.readonly) {
    raw.pragma('journal_mode = WAL');
    // The driver's build defaults WAL to NORMAL, which may lose the last commits at power loss.
    raw.pragma('synchronous = FULL');
  }
  raw.pragma('foreign_keys = ON');
  raw.pragma('temp_store = MEMORY');
  raw.pragma('cache_size = -16384');
  const query = new Kysely<Schema>({ dialect: new SqliteDialect({ database: raw }) });
  return {
    query,
    raw,
    nativeBinding: options.nativeBinding,
    async close() {
      await query.destroy();
      // A query builder that nobody has asked anything closes nothing.
      if (raw.open) raw.close();
    },
  };
}
