/** A connection of its own on which everything is one transaction: what repositories call transactions become savepoints in it. */
import { type Dialect, Kysely, SqliteDialect } from 'kysely';
import { type Database, openDatabase } from './open.ts';
import type { Schema } from './schema.ts';

export interface SandboxDatabase extends Database {
  commit(): void;
}

/** Commits nothing unless `commit` is called before `close`. Other writers wait meanwhile: be quick. */
export function openSandbox(file: string, nativeBinding: string | undefined): SandboxDatabase {
  const { raw } = openDatabase(file, { nativeBinding });
  raw.exec('BEGIN IMMEDIATE');
  const query = new Kysely<Schema>({ dialect: nested(new SqliteDialect({ database: raw })) });
  return {
    query,
    raw,
    nativeBinding,
    commit: () => void raw.exec('COMMIT'),
    async close() {
      if (raw.inTransaction) raw.exec('ROLLBACK');
      await query.destroy();
    },
  };
}

function nested(dialect: SqliteDialect): Dialect {
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
