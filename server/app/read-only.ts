/** A database that can only be read: on a disk that is full or read-only, for checks, status and logs. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { schemaOf } from '../../db/database-file.ts';
import { journalEndings } from '../../db/journal/files.ts';
import { holdsMore, type JournalNotice, settleJournal } from '../../db/journal/replay.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import type { EmbeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import type { DataDirFiles } from './data-dir.ts';

export interface Reading {
  readonly database: SqliteDatabase;
  close(): Promise<void>;
}

/** @param onJournal called with what was odd about the ledger's journal. @returns null where there is no database of this program's schema. */
export function openReading(
  files: DataDirFiles,
  addon: EmbeddedAddon | null,
  onJournal: (notice: JournalNotice) => void,
): Reading | null {
  if (!existsSync(files.database)) return null;
  const folder = mkdtempSync(join(tmpdir(), 'gateway-reading-'));
  const clean = () => rmSync(folder, { recursive: true, force: true });
  try {
    const nativeBinding = driverFor(files.dir, folder, addon);
    // What waits in a journal is read from a copy, which can be written.
    const isWhole = !holdsMore(files.database);
    const here = isWhole ? openHere(files.database, nativeBinding) : null;
    const database = here ?? openCopy(files.database, folder, nativeBinding);
    const current = schemaOf(database) === newestSqlite;
    if (current && !isWhole) settleJournal(database, onJournal);
    const close = async () => {
      await database.close();
      clean();
    };
    if (current) return { database, close };
    void close();
    return null;
  } catch (error) {
    clean();
    throw error;
  }
}

/** Where nothing can be written, the program cannot put its driver down either. */
function driverFor(dir: string, folder: string, addon: EmbeddedAddon | null): string | undefined {
  try {
    return nativeBindingFor(dir, addon);
  } catch {
    return nativeBindingFor(folder, addon);
  }
}

function openHere(file: string, nativeBinding: string | undefined): SqliteDatabase | null {
  let database: SqliteDatabase | null = null;
  try {
    database = openDatabase(file, { nativeBinding, readonly: true });
    schemaOf(database);
    return database;
  } catch {
    database?.raw.close();
    return null;
  }
}

/** The log needs a file of shared memory beside it, which a read-only folder does not take. */
function openCopy(file: string, folder: string, nativeBinding: string | undefined): SqliteDatabase {
  const copy = join(folder, basename(file));
  for (const end of ['', '-wal', ...journalEndings]) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
  return openDatabase(copy, { nativeBinding });
}
