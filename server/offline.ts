/** Work on a data directory that needs no running services, and work that nobody else may disturb. */
import { existsSync } from 'node:fs';
import { namesIn } from '../db/names.ts';
import { acquireLock, dataDirFiles, ensureDataDir } from './data-dir.ts';
import { type BackupHeader, readHeader } from './domain/backup/format.ts';
import { type Restored, restoreBackup } from './domain/backup/restore.ts';
import { addonPath } from './embedded/addon-path.ts';
import { nativeBindingFor } from './embedded/native-addon.ts';

/** @throws AppError backup_damaged */
export const backupHeader = (file: string): BackupHeader => readHeader(file).header;

/** @throws AppError backup_*, data_dir_locked when a server runs. */
export async function restore(file: string, dataDir: string, stamp: string): Promise<Restored> {
  const files = ensureDataDir(dataDir);
  const unlock = acquireLock(files);
  try {
    return await restoreBackup(file, files.database, stamp, nativeBindingFor(files.dir, addonPath));
  } finally {
    unlock();
  }
}

/** Names of channels, tokens, users ... for completions; none when they cannot be read. */
export function existingNames(dataDir: string, noun: string): string[] {
  const { dir, database } = dataDirFiles(dataDir);
  if (!existsSync(database)) return [];
  try {
    return namesIn(database, noun, nativeBindingFor(dir, addonPath));
  } catch {
    return [];
  }
}
