/** One command of the terminal on a site's PostgreSQL: a node of its own for as long as it runs, registered only when it moves money or ends what nodes that are gone have left. */
import { openDatabase } from '../../db/open.ts';
import type { PostgresPlace } from '../../db/place.ts';
import { encryptedSampleOn } from '../../db/postgres/encrypted-columns.ts';
import { createMembers } from '../../db/postgres/members.ts';
import { migratePostgres, postgresSchemaOf } from '../../db/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import { newestPostgres } from '../../db/schema/migrations.ts';
import type { DataDirFiles } from '../app/data-dir.ts';
import type { Ledger, LedgerResult } from '../billing/ledger/commands.ts';
import { pendingFiles } from '../billing/ledger/pending.ts';
import { AppError } from '../contract/errors.ts';
import { verifyKey } from '../domain/secrets/key-check.ts';
import { type Vault, vaultFor } from '../domain/secrets/vault.ts';
import { embeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { type NodeLedger, openNodeLedger } from './node-ledger.ts';
import { nodeOrder } from './order.ts';

export interface CliNode {
  readonly database: PostgresDatabase;
  readonly vault: Vault;
  readonly ledger: Ledger;
  /** Ends what nodes that are gone have left: no other node may be there to do it. */
  collect(): Promise<void>;
  close(): Promise<void>;
}

const connections = 3;

/** @param notCollected called with why what nodes that are gone have left could not be ended. @throws AppError database_*, secret_* */
export async function openCliNode(
  place: PostgresPlace,
  files: DataDirFiles,
  env: Readonly<Record<string, string | undefined>>,
  notCollected: (error: unknown) => void,
): Promise<CliNode> {
  const database = await openDatabase(place, { connections });
  try {
    await migratePostgres(database);
    const vault = vaultFor(files.secretKey, env, await encryptedSampleOn(database));
    await verifyKey(database, vault);
    const ledger = createLazyLedger(() => {
      const order = nodeOrder(place, files, env, {
        nativeBinding: nativeBindingFor(files.dir, embeddedAddon),
        memory: null,
      });
      if (order === null) throw new AppError('sqlite_alone');
      return openNodeLedger(order, { message: noop, health: noop, drain: noop, print: noop });
    });
    const collect = async () => {
      if (!(await createMembers(database).leftoversDue())) return;
      await (await ledger.open()).collect();
      // The list of nodes does not show this command among them.
      await ledger.close();
    };
    // What an earlier end of a server here could not write.
    if (pendingFiles(files.pending).length > 0) await ledger.open();
    await collect().catch((error: unknown) => {
      // The node that has these files collects itself.
      if (!(error instanceof AppError && error.code === 'outbox_locked')) notCollected(error);
    });
    return {
      database,
      vault,
      ledger,
      collect,
      async close() {
        await ledger.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** What schema the server's database has; nothing is changed. @throws AppError database_* */
export async function schemaOn(place: PostgresPlace): Promise<{ readonly schema: string; readonly newest: string }> {
  const database = await openPostgres(place, { connections: 1, readonly: true });
  try {
    return {
      schema: await postgresSchemaOf(database),
      newest: newestPostgres,
    };
  } finally {
    await database.close();
  }
}

const noop = () => undefined;

/** Most commands only read. */
function createLazyLedger(
  start: () => Promise<NodeLedger>,
): Ledger & { open(): Promise<NodeLedger>; close(): Promise<void> } {
  let ledger: Promise<NodeLedger> | null = null;
  const open = (): Promise<NodeLedger> => {
    ledger ??= start();
    return ledger;
  };
  return {
    open,
    async execute(command) {
      const { engine } = await open();
      return new Promise<LedgerResult>((resolve, reject) => {
        engine.submit(command, (result) => (result instanceof AppError ? reject(result) : resolve(result)));
      });
    },
    healthy: () => ({ ok: true }),
    async close() {
      const opened = ledger;
      ledger = null;
      await (await opened?.catch(() => null))?.close();
    },
  };
}
