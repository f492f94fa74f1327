/** Puts a backup in the place of the database, keeping the old one; or into an empty database of a server. No process may be using it. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BackupHeader, extractBackup, readHeader } from '../../../db/backup-file.ts';
import { checkDatabase, foldLog, schemaOf } from '../../../db/database-file.ts';
import { type EncryptedSample, encryptedSample } from '../../../db/encrypted-columns.ts';
import { journalEndings } from '../../../db/journal/files.ts';
import {
  appliedIn,
  forgetJournal,
  holdsMore,
  type JournalNotice,
  owe,
  owedByJournal,
  packedIn,
  removeJournal,
  settleJournal,
} from '../../../db/journal/replay.ts';
import { migrate } from '../../../db/migrate.ts';
import { withInterruptNote } from '../../../db/move/interrupted.ts';
import { type MoveProgress, moveSite } from '../../../db/move/move.ts';
import { sqliteEnd } from '../../../db/move/sqlite-end.ts';
import { openDatabase } from '../../../db/open.ts';
import type { PostgresPlace } from '../../../db/place.ts';
import { mailFrom } from '../../../db/repositories/statement-schedules.ts';
import { hasSchema, newestSqlite } from '../../../db/schema/migrations.ts';
import { AppError } from '../../contract/errors.ts';

export interface Restored {
  readonly header: BackupHeader;
  /** Where the former database lies now, '' when there was none. */
  readonly kept: string;
  /** Something sealed in it. */
  readonly sample: EncryptedSample | null;
}

/** What was in the backup lies in `fresh`, and is whole. @throws AppError backup_damaged, backup_newer. */
async function opened(file: string, fresh: string, nativeBinding: string | undefined) {
  const header = await extractBackup(file, fresh);
  const plain = header.sha256 === '';
  if (!plain && !hasSchema(header.schema)) throw new AppError('backup_newer', { schema: header.schema });
  const database = openDatabase(fresh, { nativeBinding });
  const { problems, schema } = checkDatabase(database);
  const sample = encryptedSample(database);
  const owed = problems.length === 0 && hasSchema(schema) ? packedIn(database) : [];
  // Another database than the one it was copied from: that one's journal goes on.
  forgetJournal(database);
  if (problems.length === 0 && hasSchema(schema)) await mailFrom(database, schema, Math.floor(Date.now() / 1000));
  foldLog(database);
  await database.close();
  if (plain && !hasSchema(schema)) throw new AppError('backup_newer', { schema });
  if (problems.length > 0) throw new AppError('backup_damaged', { detail: problems[0] ?? '' });
  return { found: { header: { ...header, schema }, sample } satisfies Omit<Restored, 'kept'>, owed };
}

const withLog = ['', '-wal', '-shm'] as const;

/**
 * @param target the database's path. @param stamp makes the name of the safety copy unique.
 * @param onJournal called with what was odd about the former database's journal. @throws AppError backup_damaged, backup_newer.
 */
export async function restoreBackup(
  file: string,
  target: string,
  stamp: string,
  nativeBinding: string | undefined,
  onJournal: (notice: JournalNotice) => void = () => undefined,
): Promise<Restored> {
  const fresh = `${target}.restoring`;
  try {
    const { found, owed } = await opened(file, fresh, nativeBinding);
    const kept = await moveAway(target, stamp, nativeBinding, onJournal);
    owe(join(dirname(target), `gateway.owed-packed-${stamp}.jsonl`), owed);
    renameSync(fresh, target);
    // It belongs to the former database.
    removeJournal(target);
    return { ...found, kept };
  } finally {
    for (const end of withLog) rmSync(fresh + end, { force: true });
  }
}

/** The log beside a database belongs to it: folded in when that is possible, moved along when it is damaged. */
async function moveAway(
  file: string,
  stamp: string,
  nativeBinding: string | undefined,
  onJournal: (notice: JournalNotice) => void,
): Promise<string> {
  if (!existsSync(file)) return '';
  const kept = `${file}.before-${stamp}`;
  const ends: string[] = [...withLog];
  let applied = 0;
  try {
    const database = openDatabase(file, { nativeBinding });
    applied = appliedIn(database);
    if (schemaOf(database) === newestSqlite) settleJournal(database, onJournal);
    // It goes on when that database does.
    else if (holdsMore(file)) ends.push(...journalEndings);
    foldLog(database);
    await database.close();
  } catch (error) {
    // What another site is owed is charged to nobody here.
    if (error instanceof AppError && error.code === 'journal_foreign') ends.push(...journalEndings);
    // A damaged database is what one restores over: what had been acknowledged and is not in it stays owed.
    else owedByJournal(file, join(dirname(file), `gateway.owed-journal-${stamp}.jsonl`), applied);
  }
  for (const end of ends) if (existsSync(file + end)) renameSync(file + end, kept + end);
  return kept;
}

export interface ServerRestore {
  readonly file: string;
  /** Folder in which it may be opened meanwhile. */
  readonly dir: string;
  readonly server: PostgresPlace;
  readonly nativeBinding: string | undefined;
  readonly progress?: ((progress: MoveProgress) => void) | undefined;
}

/** Goes on where it stopped when the same backup is restored again. @throws AppError as `restoreBackup`; move_not_empty, move_busy, database_*. */
export async function restoreToServer(order: ServerRestore): Promise<Restored> {
  const { file, dir, server, nativeBinding, progress } = order;
  // Begun work belongs to this backup and to no other.
  const folder = join(dir, `.restoring-${readHeader(file).header.sha256.slice(0, 16)}`);
  const fresh = join(folder, 'gateway.db');
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    const { found, owed } = await opened(file, fresh, nativeBinding);
    const { openTarget } = await import('../../../db/move/open-target.ts');
    const source = openDatabase(fresh, { nativeBinding });
    try {
      await migrate(source);
      const target = await openTarget(server);
      try {
        await withInterruptNote(() => moveSite({ from: sqliteEnd(source), to: target.end, progress }));
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
    owe(join(dir, `gateway.owed-packed-${Date.now()}.jsonl`), owed);
    return { ...found, kept: '' };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
