/** Work on a data directory that needs no running services, and work that needs it exclusively. */
import { existsSync, rmSync } from 'node:fs';
import { type BackupHeader, readHeader } from '../../db/backup-file.ts';
import { schemaOf } from '../../db/database-file.ts';
import type { EncryptedSample } from '../../db/encrypted-columns.ts';
import type { JournalNotice } from '../../db/journal/replay.ts';
import { migrate } from '../../db/migrate.ts';
import { namesIn } from '../../db/names.ts';
import { type Database, openDatabase, type SqliteDatabase } from '../../db/open.ts';
import { type PostgresPlace, placeName, type SqlitePlace } from '../../db/place.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import { progressFile } from '../billing/ledger/progress.ts';
import { AppError } from '../contract/errors.ts';
import { type BackupFile, backupFiles, backupNamed } from '../domain/backup/files.ts';
import { type Restored, restoreBackup, restoreToServer } from '../domain/backup/restore.ts';
import { verifyKey } from '../domain/secrets/key-check.ts';
import { endRotation, type RotateResult, rotate, rotationStamp } from '../domain/secrets/rotation.ts';
import { createVault, environmentKey, loadMasterKey, vaultFor } from '../domain/secrets/vault.ts';
import { embeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { acquireLock, databasePlace, dataDirFiles, ensureDataDir } from './data-dir.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export { type BackupFile, backupFiles, backupNamed };

/** What `--type` of a channel may be. Read when it is asked for: a catalogue is much to load for other commands. */
export const providerNames = async (): Promise<string[]> =>
  (await import('../providers/catalogue.ts')).providers.map(({ slug }) => slug);

/** @throws AppError backup_damaged */
export const backupHeader = (file: string): BackupHeader => readHeader(file).header;

/** Name of the server's database where the site lies in one; null = it is a file. @throws AppError database_address */
export function serverOf(env: Environment): string | null {
  const place = databasePlace({ database: '' }, env);
  return place.engine === 'sqlite' ? null : placeName(place);
}

/** Over the file of the data directory, or into the empty database that the environment names. @throws AppError backup_*, move_*, database_*, data_dir_locked when a server runs. */
export async function restore(
  file: string,
  dataDir: string,
  stamp: string,
  env: Environment,
  onJournal: (notice: JournalNotice) => void = () => undefined,
): Promise<Omit<Restored, 'sample'> & { readonly keyFailure: AppError | null }> {
  const files = ensureDataDir(dataDir, env);
  const release = acquireLock(files);
  try {
    const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
    const place = databasePlace(files, env);
    const { sample, ...restored } =
      place.engine === 'sqlite'
        ? await restoreBackup(file, files.database, stamp, nativeBinding, onJournal)
        : await restoreToServer({ file, dir: files.dir, server: place, nativeBinding });
    // What came after the backup was left behind on purpose.
    rmSync(progressFile(files.database), { force: true });
    return { ...restored, keyFailure: sample === null ? null : failureWith(files.secretKey, env, sample) };
  } finally {
    release();
  }
}

/** The backup never contains the key: restoring it elsewhere requires a copy of the key. */
function failureWith(file: string, env: Environment, sample: EncryptedSample): AppError | null {
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
  if (place.engine === 'postgres') return (await import('../cluster/cli-node.ts')).schemaOn(place);
  if (!existsSync(file)) return { schema: '', newest: newestSqlite };
  const database = openDatabase(file, { nativeBinding: nativeBindingFor(dir, embeddedAddon), readonly: true });
  try {
    return { schema: schemaOf(database), newest: newestSqlite };
  } finally {
    await database.close();
  }
}

/** Names of channels, tokens, users ... for completions; none when they cannot be read. */
export function existingNames(dataDir: string, noun: string, env: Environment = {}): string[] {
  const { dir, database } = dataDirFiles(dataDir);
  // Shell completion must not wait for a distant server.
  if (env.DATABASE_URL || !existsSync(database)) return [];
  try {
    return namesIn(database, noun, nativeBindingFor(dir, embeddedAddon));
  } catch {
    return [];
  }
}

/** True when the master key comes from the environment and not from the data directory. */
export const hasEnvironmentKey = (env: Environment): boolean => environmentKey(env) !== '';

/** @param to the new key, '' = made up. @throws AppError data_dir_locked when a server runs here, nodes_live when one runs elsewhere, secret_unreadable. */
export async function rotateMasterKey(order: {
  readonly dataDir: string;
  readonly env: Environment;
  readonly to: string;
  readonly keepOld: boolean;
}): Promise<RotateResult> {
  const { env } = order;
  const files = ensureDataDir(order.dataDir, env);
  const place = databasePlace(files, env);
  const release = acquireLock(files);
  try {
    const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
    const stamp = rotationStamp(Date.now());
    await endRotation({ ...files, database: place }, nativeBinding, stamp);
    const database = place.engine === 'sqlite' ? await openFile(place, nativeBinding) : await openServer(place);
    try {
      const from = loadMasterKey(files.secretKey, env);
      if (database.engine === 'postgres') await verifyKey(database, createVault(from));
      return await rotate(files.secretKey, database, { ...order, from, inFile: !hasEnvironmentKey(env), stamp });
    } finally {
      await database.close();
    }
  } finally {
    release();
  }
}

async function openFile({ file }: SqlitePlace, nativeBinding: string | undefined): Promise<SqliteDatabase> {
  const database = openDatabase(file, { nativeBinding });
  await migrate(database);
  return database;
}

async function openServer(place: PostgresPlace): Promise<Database> {
  const { migratePostgres } = await import('../../db/postgres/migrate.ts');
  const database = await openDatabase(place, { connections: 2 });
  await migratePostgres(database);
  return database;
}
