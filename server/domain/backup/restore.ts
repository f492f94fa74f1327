/** Puts a backup in the place of the database, keeping what was there. Nobody may be using it. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { checkDatabase, foldLog } from '../../../db/maintenance.ts';
import { migrations } from '../../../db/migrate.ts';
import { openDatabase } from '../../../db/open.ts';
import { type SealedSample, sealedSample } from '../../../db/sealed.ts';
import { AppError } from '../../contract/errors.ts';
import { type BackupHeader, extractBackup } from './format.ts';

export interface Restored {
  readonly header: BackupHeader;
  /** Where the former database lies now, '' when there was none. */
  readonly kept: string;
  /** Something sealed in it. */
  readonly sample: SealedSample | null;
}

/** @param target the database's path. @param stamp makes the name of the safety copy unique. @throws AppError backup_damaged, backup_newer. */
export async function restoreBackup(
  file: string,
  target: string,
  stamp: string,
  nativeBinding: string | undefined,
): Promise<Restored> {
  const fresh = `${target}.restoring`;
  try {
    const header = await extractBackup(file, fresh);
    const plain = header.sha256 === '';
    if (!plain && !Object.hasOwn(migrations, header.schema))
      throw new AppError('backup_newer', { schema: header.schema });
    const database = openDatabase(fresh, { nativeBinding });
    const { problems, schema } = checkDatabase(database);
    const sample = sealedSample(database);
    foldLog(database);
    await database.close();
    if (plain && !Object.hasOwn(migrations, schema)) throw new AppError('backup_newer', { schema });
    if (problems.length > 0) throw new AppError('backup_damaged', { detail: problems[0] ?? '' });
    const kept = await setAside(target, stamp, nativeBinding);
    renameSync(fresh, target);
    return { header: { ...header, schema }, kept, sample };
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(fresh + end, { force: true });
  }
}

/** The log beside a database belongs to it: folded in when that is possible, moved along when it is damaged. */
async function setAside(file: string, stamp: string, nativeBinding: string | undefined): Promise<string> {
  if (!existsSync(file)) return '';
  const kept = `${file}.before-${stamp}`;
  try {
    const database = openDatabase(file, { nativeBinding });
    foldLog(database);
    await database.close();
  } catch {
    // A damaged database is what one restores over.
  }
  for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) renameSync(file + end, kept + end);
  return kept;
}
