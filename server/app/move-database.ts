/** Moves a site between a file and a server, while no process serves either. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { foldLog } from '../../db/database-file.ts';
import { type JournalNotice, settleJournal } from '../../db/journal/replay.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { migrate } from '../../db/migrate.ts';
import { withInterruptNote } from '../../db/move/interrupted.ts';
import { type MovedReport, type MoveProgress, moveSite } from '../../db/move/move.ts';
import { openTarget } from '../../db/move/open-target.ts';
import { postgresEnd } from '../../db/move/postgres-end.ts';
import { sqliteEnd } from '../../db/move/sqlite-end.ts';
import { openDatabase } from '../../db/open.ts';
import { type PostgresPlace, placeName, placeOf } from '../../db/place.ts';
import { createMembers } from '../../db/postgres/members.ts';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { pendingFiles, settlePending } from '../billing/ledger/pending.ts';
import { hasNode, nodeOrder } from '../cluster/order.ts';
import { AppError } from '../contract/errors.ts';
import { embeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { acquireLock, type DataDirFiles, dataDirFiles, ensureDataDir } from './data-dir.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface SiteMove {
  readonly dataDir: string;
  readonly server: PostgresPlace;
  /** Names the folder of a node's own files; default: the process's. */
  readonly env?: Environment | undefined;
  readonly progress?: ((progress: MoveProgress) => void) | undefined;
  readonly batch?: number | undefined;
  /** Called with what was odd about the ledger's journal. */
  readonly onJournal?: ((notice: JournalNotice) => void) | undefined;
}

/** @param back from the server into the data directory. @throws AppError database_address */
export function plannedMove(url: string, dataDir: string, back: boolean) {
  const server = placeOf(url);
  if (server.engine !== 'postgres')
    throw new AppError('database_address', { detail: url === '' ? 'DATABASE_URL' : url });
  const [here, there] = [dataDirFiles(dataDir).database, placeName(server)];
  return back
    ? { server, from: there, to: here, move: moveToFile }
    : { server, from: here, to: there, move: moveToServer };
}

/** From the data directory's file; it stays as it is. @throws AppError data_dir_locked, move_*, database_*. */
export async function moveToServer(order: SiteMove): Promise<MovedReport> {
  const files = ensureDataDir(order.dataDir);
  const release = acquireLock(files);
  try {
    if (!existsSync(files.database)) throw new AppError('not_found', { what: files.database });
    const source = openDatabase(files.database, { nativeBinding: nativeBindingFor(files.dir, embeddedAddon) });
    try {
      await migrate(source);
      settleJournal(source, order.onJournal ?? (() => undefined));
      // Settlements that are still pending are written to the ledger before it is moved.
      if (pendingFiles(files.pending).length > 0) settlePending(createLedgerStore(source.raw), files.pending);
      const target = await openTarget(order.server);
      try {
        return await withInterruptNote(() => moveSite({ ...order, from: sqliteEnd(source), to: target.end }));
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  } finally {
    release();
  }
}

/**
 * Ends what nodes that were killed have left, as far as it is due: no other node may be there to do it. The node whose folder
 * this is has no process, so that what it left is ended now, and what waits on its disk is sent.
 */
async function settleNodes(
  source: PostgresDatabase,
  place: PostgresPlace,
  files: DataDirFiles,
  env: Environment,
): Promise<void> {
  const members = createMembers(source);
  const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
  const order = () => nodeOrder(place, files, env, { nativeBinding, memory: null });
  const own = hasNode(files, env) ? await members.find(order()?.name ?? '') : null;
  // A move that was interrupted goes on where it stopped only where nothing is written meanwhile.
  if (own?.left_at !== 0 && !(await members.leftoversDue())) return;
  const node = order();
  if (node === null) return;
  const quiet = () => undefined;
  const { openNodeLedger } = await import('../cluster/node-ledger.ts');
  const ledger = await openNodeLedger(node, { message: quiet, health: quiet, drain: quiet, print: quiet });
  try {
    await ledger.collect();
  } finally {
    await ledger.close();
  }
}

/** Into the data directory's file, which may not be there yet; until everything is equal it has another name. @throws as `moveToServer`. */
export async function moveToFile(order: SiteMove): Promise<MovedReport> {
  const files = ensureDataDir(order.dataDir);
  const release = acquireLock(files);
  const file = `${files.database}.moving`;
  try {
    if (existsSync(files.database)) throw new AppError('move_not_empty', { name: files.database });
    const source = await openDatabase(order.server);
    try {
      await migratePostgres(source);
      await settleNodes(source, order.server, files, order.env ?? process.env);
      const target = openDatabase(file, { nativeBinding: nativeBindingFor(dirname(file), embeddedAddon) });
      let report: MovedReport;
      try {
        await migrate(target);
        report = await withInterruptNote(() =>
          moveSite({ ...order, from: postgresEnd(source), to: sqliteEnd(target) }),
        );
        foldLog(target);
      } finally {
        await target.close();
      }
      renameSync(file, files.database);
      for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true });
      return report;
    } finally {
      await source.close();
    }
  } finally {
    release();
  }
}
