/** A connection of its own on which everything is one transaction: what repositories call transactions become savepoints in it. */
import { type Dialect, Kysely, PostgresDialect, type PostgresPoolClient, SqliteDialect } from 'kysely';
import type { PoolClient } from 'pg';
import { type Database, openDatabase, type SqliteDatabase } from './open.ts';
import type { PostgresDatabase } from './postgres/open.ts';
import type { Schema } from './schema/tables.ts';

export type SandboxDatabase = Database & { commit(): void | Promise<void> };

/** Commits nothing unless `commit` is called before `close`. Other writers wait meanwhile: be quick. */
export function openSandbox(file: string, nativeBinding: string | undefined): SqliteDatabase & { commit(): void } {
  const opened = openDatabase(file, { nativeBinding });
  const { raw } = opened;
  raw.exec('BEGIN IMMEDIATE');
  const query = new Kysely<Schema>({ dialect: nested(new SqliteDialect({ database: raw })) });
  return {
    ...opened,
    query,
    commit: () => void raw.exec('COMMIT'),
    async close() {
      if (raw.inTransaction) raw.exec('ROLLBACK');
      await query.destroy();
    },
  };
}

/** The same beside a database that is open. */
export const openSandboxOf = (database: Database): SandboxDatabase | Promise<SandboxDatabase> =>
  database.engine === 'sqlite' ? openSandbox(database.raw.name, database.nativeBinding) : openServerSandbox(database);

export interface ServerSandbox extends PostgresDatabase {
  /** The one connection. */
  readonly client: PoolClient;
  commit(): Promise<void>;
}

export async function openServerSandbox(database: PostgresDatabase): Promise<ServerSandbox> {
  const client = await database.pool.connect();
  await client.query('BEGIN');
  let open = true;
  const end = async (how: 'COMMIT' | 'ROLLBACK') => {
    open = false;
    await client.query(how);
  };
  // There is only one connection, so every caller gets it.
  const shared: PostgresPoolClient = {
    query: client.query.bind(client) as PostgresPoolClient['query'],
    release: () => undefined,
  };
  const pool = { connect: async () => shared, end: async () => undefined, options: {} };
  const query = new Kysely<Schema>({ dialect: nested(new PostgresDialect({ pool })) });
  return {
    ...database,
    query,
    client,
    commit: () => end('COMMIT'),
    async close() {
      if (open) await end('ROLLBACK').catch(() => undefined);
      await query.destroy();
      client.release();
    },
  };
}

function nested(dialect: Dialect): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver() {
      const driver = dialect.createDriver();
      const run = (connection: Parameters<typeof driver.beginTransaction>[0], sql: string) =>
        connection.executeQuery({
          sql,
          parameters: [],
          query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
          queryId: { queryId: sql },
        });
      return {
        init: () => driver.init(),
        acquireConnection: () => driver.acquireConnection(),
        releaseConnection: (connection) => driver.releaseConnection(connection),
        destroy: () => driver.destroy(),
        beginTransaction: async (connection) => void (await run(connection, 'SAVEPOINT inner_work')),
        commitTransaction: async (connection) => void (await run(connection, 'RELEASE inner_work')),
        async rollbackTransaction(connection) {
          await run(connection, 'ROLLBACK TO inner_work');
          await run(connection, 'RELEASE inner_work');
        },
      };
    },
  };
}
