/** Backups in a data directory, and which of them a name means. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { type BackupHeader, readHeader } from '../../../db/backup-file.ts';
import { copyNamed } from '../../../db/database-file.ts';

export interface BackupFile extends BackupHeader {
  readonly file: string;
  /** The schema to which the database was upgraded after this copy; '' = the copy was made for another reason. */
  readonly before_upgrade_to: string;
}

/** Where backups lie: made by hand or before an upgrade, and those by the clock. */
const foldersIn = (dataDir: string): readonly string[] => [
  join(dataDir, 'backups'),
  join(dataDir, 'backups', 'scheduled'),
];

/** The oldest first. @throws AppError backup_damaged */
export function backupFiles(dataDir: string): BackupFile[] {
  const files = foldersIn(dataDir)
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return files
    .flatMap((file): BackupFile[] => {
      const copy = copyNamed(basename(file));
      if (copy === null && !file.endsWith('.backup')) return [];
      const { header } = readHeader(file);
      // A plain copy of an earlier build says its schema in its name alone.
      return [{ file, ...header, schema: header.schema || (copy?.schema ?? ''), before_upgrade_to: copy?.next ?? '' }];
    })
    .sort((one, other) => one.created_at - other.created_at || (one.file < other.file ? -1 : 1));
}

/** @param given a path, or the name of a backup of this data directory, with or without its ending. @returns null = there is none. */
export function backupNamed(dataDir: string, given: string): string | null {
  if (existsSync(given)) return given;
  if (isAbsolute(given)) return null;
  const files = foldersIn(dataDir).flatMap((folder) => ['', '.backup', '.db'].map((end) => join(folder, given + end)));
  return files.find((file) => existsSync(file)) ?? null;
}
