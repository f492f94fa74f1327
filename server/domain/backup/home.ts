/** Where backups lie and what opens them: beside the file, or in the data directory of a node whose database is elsewhere. */
import { join } from 'node:path';
import type { Database } from '../../../db/open.ts';
import { AppError } from '../../contract/errors.ts';

export interface DataFolder {
  readonly folder: string;
  /** The native binding of the driver that reads and writes files. */
  readonly nativeBinding: string | undefined;
}

export interface BackupHome {
  readonly backups: string;
  readonly nativeBinding: string | undefined;
}

/** @param given of this process. @throws AppError sqlite_alone where there is no such folder. */
export function backupHome(database: Database, given: DataFolder | undefined): BackupHome {
  const folder = given?.folder ?? database.folder;
  if (folder === null) throw new AppError('sqlite_alone');
  const nativeBinding = given?.nativeBinding ?? (database.engine === 'sqlite' ? database.nativeBinding : undefined);
  return { backups: join(folder, 'backups'), nativeBinding };
}
