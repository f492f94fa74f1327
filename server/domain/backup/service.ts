/** Backups while serving, and care of the database file. */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type BackupHeader, writeBackup } from '../../../db/backup-file.ts';
import type { DatabaseCheck } from '../../../db/database-file.ts';
import type { Database } from '../../../db/open.ts';
import { checkSite, portableCopy, vacuumSite } from '../../../db/site-checks.ts';
import type { Language } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { serverWarnings, type Warning } from '../status/server-warnings.ts';
import { backupHome, type DataFolder } from './home.ts';

export type MaintenanceService = ReturnType<typeof createMaintenance>;

/** @param now milliseconds. */
async function checkResult(
  database: Database,
  now: number,
  language: Language,
): Promise<DatabaseCheck & { readonly advice?: Warning[] }> {
  const found = await checkSite(database);
  if (database.engine === 'sqlite') return found;
  const { serverStatus } = await import('../../../db/postgres/server-status.ts');
  return { ...found, advice: serverWarnings(await serverStatus(database, now), language) };
}

export function createMaintenance(deps: {
  readonly database: Database;
  readonly dataFolder?: DataFolder;
  readonly version: string;
  readonly now: () => number;
}) {
  return {
    check: (language: Language) => checkResult(deps.database, deps.now(), language),
    vacuum: () => vacuumSite(deps.database),
    /** @param file absolute path of a file that does not exist yet. @throws AppError backup_unwritable */
    async backup(file: string): Promise<BackupHeader> {
      const { nativeBinding } = backupHome(deps.database, deps.dataFolder);
      const copy = `${file}.part`;
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        rmSync(copy, { force: true });
        const schema = await portableCopy(deps.database, copy, nativeBinding);
        return await writeBackup(file, copy, {
          schema,
          version: deps.version,
          created_at: Math.floor(deps.now() / 1000),
        });
      } catch (error) {
        throw new AppError('backup_unwritable', { file, detail: error instanceof Error ? error.message : '' }, error);
      } finally {
        rmSync(copy, { force: true });
      }
    },
  };
}
