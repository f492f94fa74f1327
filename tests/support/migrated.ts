/** A database with today's schema, made once for all tests of a worker: migrating anew takes longer than most tests. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../db/migrate.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';

async function migratedBytes(): Promise<Uint8Array> {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-schema-'));
  const file = join(dir, 'schema.db');
  const database = openDatabase(file);
  database.raw.pragma('synchronous = OFF');
  await migrate(database);
  // Leaves one file: the log goes with whoever closes last.
  await database.close();
  const bytes = readFileSync(file);
  rmSync(dir, { recursive: true, force: true });
  return bytes;
}

let template: Promise<Uint8Array> | null = null;

/** @param file where nothing is yet. Nothing in it outlives the process: it is never synced. */
export async function openMigrated(file: string): Promise<SqliteDatabase> {
  template ??= migratedBytes();
  writeFileSync(file, await template, { mode: 0o600 });
  const database = openDatabase(file);
  database.raw.pragma('synchronous = OFF');
  return database;
}
