/** Work on a data directory that needs no running services, and work that nobody else may disturb. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { parse } from 'yaml';
import { readDump } from '../db/dump.ts';
import { openForeign } from '../db/foreign.ts';
import { schemaOf } from '../db/maintenance.ts';
import { migrate, migrations } from '../db/migrate.ts';
import { namesIn } from '../db/names.ts';
import { openDatabase, type SqliteDatabase } from '../db/open.ts';
import { openSandbox } from '../db/sandbox.ts';
import type { SealedSample } from '../db/sealed.ts';
import { AppError } from './contract/errors.ts';
import { acquireLock, databasePlace, dataDirFiles, ensureDataDir } from './data-dir.ts';
import { type BackupHeader, readHeader } from './domain/backup/format.ts';
import { type Restored, restoreBackup } from './domain/backup/restore.ts';
import { importFamily } from './domain/import/family.ts';
import { importLitellm } from './domain/import/litellm.ts';
import type { ImportReport } from './domain/import/report.ts';
import type { Family, Source } from './domain/import/source.ts';
import { endRotation, type Rotated, rotate, rotationStamp } from './domain/secrets/rotation.ts';
import { createVault, givenKey, loadMasterKey, vaultFor } from './domain/secrets/vault.ts';
import { addonPath } from './embedded/addon-path.ts';
import { nativeBindingFor } from './embedded/native-addon.ts';
import { version } from './embedded/version.ts';
import { createDirectLedger } from './ledger/direct.ts';
import { progressFile } from './ledger/progress.ts';
import { createServices } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws AppError backup_damaged */
export const backupHeader = (file: string): BackupHeader => readHeader(file).header;

/** @throws AppError backup_*, data_dir_locked when a server runs. */
export async function restore(
  file: string,
  dataDir: string,
  stamp: string,
  env: Environment,
): Promise<Omit<Restored, 'sample'> & { readonly keyTrouble: AppError | null }> {
  const files = ensureDataDir(dataDir);
  const unlock = acquireLock(files);
  try {
    const { sample, ...restored } = await restoreBackup(
      file,
      files.database,
      stamp,
      nativeBindingFor(files.dir, addonPath),
    );
    // What came after the backup was left behind on purpose.
    rmSync(progressFile(files.database), { force: true });
    return { ...restored, keyTrouble: sample === null ? null : troubleWith(files.secretKey, env, sample) };
  } finally {
    unlock();
  }
}

/** The backup never holds the key: whoever restores it elsewhere has to bring that along. */
function troubleWith(file: string, env: Environment, sample: SealedSample): AppError | null {
  try {
    vaultFor(file, env, sample);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** What schema the database has and what this program would make of it. '' where there is none. */
export async function databaseSchema(
  dataDir: string,
  env: Environment = {},
): Promise<{ readonly schema: string; readonly newest: string }> {
  const { dir, database: file } = dataDirFiles(dataDir);
  const place = databasePlace({ database: file }, env);
  if (place.engine === 'postgres') return (await import('./cluster/visitor.ts')).schemaOn(place);
  const newest = Object.keys(migrations).sort().at(-1) ?? '';
  if (!existsSync(file)) return { schema: '', newest };
  const database = openDatabase(file, { nativeBinding: nativeBindingFor(dir, addonPath), readonly: true });
  try {
    return { schema: schemaOf(database), newest };
  } finally {
    await database.close();
  }
}

/** Names of channels, tokens, users ... for completions; none when they cannot be read. */
export function existingNames(dataDir: string, noun: string, env: Environment = {}): string[] {
  const { dir, database } = dataDirFiles(dataDir);
  // Nobody who presses a key waits for a server far away.
  if (env.DATABASE_URL || !existsSync(database)) return [];
  try {
    return namesIn(database, noun, nativeBindingFor(dir, addonPath));
  } catch {
    return [];
  }
}

/** True when the master key comes from the environment and not from the data directory. */
export const keyIsGiven = (env: Environment): boolean => givenKey(env) !== '';

/** @param to the new key, '' = made up. @throws AppError data_dir_locked when a server runs, secret_unreadable. */
export async function rotateMasterKey(order: {
  readonly dataDir: string;
  readonly env: Environment;
  readonly to: string;
  readonly keepOld: boolean;
}): Promise<Rotated> {
  const files = ensureDataDir(order.dataDir);
  fileAlone(files, order.env);
  const unlock = acquireLock(files);
  try {
    const nativeBinding = nativeBindingFor(files.dir, addonPath);
    const stamp = rotationStamp(Date.now());
    await endRotation(files, nativeBinding, stamp);
    const database = openDatabase(files.database, { nativeBinding });
    try {
      await migrate(database);
      const from = loadMasterKey(files.secretKey, order.env);
      return rotate(files, database, { ...order, from, inFile: !keyIsGiven(order.env), stamp });
    } finally {
      await database.close();
    }
  } finally {
    unlock();
  }
}

/** @throws AppError sqlite_alone where the site lies on a server. */
function fileAlone(files: Parameters<typeof databasePlace>[0], env: Environment): void {
  if (databasePlace(files, env).engine !== 'sqlite') throw new AppError('sqlite_alone');
}

export interface ImportOrder {
  readonly from: Family | 'litellm';
  readonly file: string;
  readonly dataDir: string;
  readonly dryRun: boolean;
  /** Tables to take; empty = all. */
  readonly only: readonly string[];
  readonly env: Environment;
}

/** Everything or nothing; a dry run is the same work, rolled back. @throws AppError import_*, not_found, data_dir_locked. */
export async function importSite({ from, file, dataDir, dryRun, env, only }: ImportOrder): Promise<ImportReport> {
  if (!existsSync(file)) throw new AppError('not_found', { what: file });
  const files = ensureDataDir(dataDir);
  fileAlone(files, env);
  const unlock = acquireLock(files);
  const nativeBinding = nativeBindingFor(files.dir, addonPath);
  try {
    await endRotation(files, nativeBinding, rotationStamp(Date.now()));
    await migrated(files.database, nativeBinding);
    const database = openSandbox(files.database, nativeBinding);
    try {
      const vault = createVault(loadMasterKey(files.secretKey, env));
      const report = await importInto(database, vault, { from, file, env, only }, nativeBinding);
      if (!dryRun) database.commit();
      return report;
    } finally {
      await database.close();
    }
  } finally {
    unlock();
  }
}

async function migrated(file: string, nativeBinding: string | undefined): Promise<void> {
  const database = openDatabase(file, { nativeBinding });
  await migrate(database);
  await database.close();
}

async function importInto(
  database: SqliteDatabase,
  vault: ReturnType<typeof createVault>,
  { from, file, env, only }: Pick<ImportOrder, 'from' | 'file' | 'env' | 'only'>,
  nativeBinding: string | undefined,
): Promise<ImportReport> {
  const ledger = createDirectLedger(database);
  const relayTest = () => Promise.reject(new AppError('setup_needed'));
  const services = await createServices({
    database,
    vault,
    ledger,
    relayTest,
    version,
    setupCode: null,
    now: Date.now,
  });
  if (from === 'litellm') return importLitellm({ ...services, env }, parse(readFileSync(file, 'utf8')));
  const source = narrowed(openSource(file, nativeBinding), only);
  try {
    const now = Math.floor(Date.now() / 1000);
    return await importFamily({ database, ledger, options: services.options, vault, now }, source, from);
  } finally {
    source.close();
  }
}

/** Tables that were not asked for are empty. */
const narrowed = (source: ReturnType<typeof openSource>, only: readonly string[]): ReturnType<typeof openSource> =>
  only.length === 0
    ? source
    : { rows: (table) => (only.includes(table) ? source.rows(table) : []), close: source.close };

const sqliteMark = 'SQLite format 3\0';

/** A SQLite file by its first bytes, everything else is read as a dump. */
function openSource(file: string, nativeBinding: string | undefined): Source & { close(): void } {
  const bytes = readFileSync(file);
  if (bytes.toString('latin1', 0, sqliteMark.length) === sqliteMark) return openForeign(file, nativeBinding);
  const tables = readDump(bytes.toString('utf8'));
  if (!tables.has('users') && !tables.has('channels'))
    throw new AppError('import_failed', { detail: 'users, channels' });
  return { rows: (table) => tables.get(table) ?? [], close: () => undefined };
}
