/** Imports from another gateway, into a file or onto a server, while no process serves it. */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { openSqliteSource } from '../../db/import-source.ts';
import { type JournalNotice, settleJournal } from '../../db/journal/replay.ts';
import { migrate } from '../../db/migrate.ts';
import { type Database, openDatabase } from '../../db/open.ts';
import { placeName } from '../../db/place.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { openSandbox, openServerSandbox, type SandboxDatabase } from '../../db/sandbox.ts';
import { readDump } from '../../db/sql-rows.ts';
import type { Ledger } from '../billing/ledger/commands.ts';
import type { Language } from '../contract/enum.ts';
import { AppError } from '../contract/errors.ts';
import { type ImportDeps, importFamily } from '../domain/import/family.ts';
import { importLitellm } from '../domain/import/litellm.ts';
import type { ImportReport } from '../domain/import/report.ts';
import { relatedTables } from '../domain/import/schema.ts';
import type { Family, Source } from '../domain/import/source.ts';
import { endRotation, rotationStamp } from '../domain/secrets/rotation.ts';
import { createVault, loadMasterKey, type Vault } from '../domain/secrets/vault.ts';
import { embeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { version } from '../embedded/version.ts';
import { createDirectLedger } from '../threads/ledger/direct.ts';
import { acquireLock, type DataDirFiles, databasePlace, ensureDataDir } from './data-dir.ts';
import { createServices, type Services } from './services.ts';

export type { ModelPrice } from '../domain/import/price.ts';
export type { ImportReport };

export interface ImportOrder {
  readonly from: Family | 'litellm';
  readonly file: string;
  readonly dataDir: string;
  readonly dryRun: boolean;
  /** Tables to take; empty = all. */
  readonly only: readonly string[];
  /** Whether models cost what they cost at the source. */
  readonly keepPrices: boolean;
  /** The language of the report. */
  readonly language: Language;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with why what nodes that are gone have left could not be ended. */
  readonly notCollected: (error: unknown) => void;
  /** Called with what was odd about the ledger's journal. */
  readonly onJournal: (notice: JournalNotice) => void;
}

/** An order, and what its work is done with. */
interface Import extends ImportOrder {
  readonly files: DataDirFiles;
  readonly nativeBinding: string | undefined;
  readonly vault: Vault;
}

/** Everything or nothing; a dry run is the same work, rolled back. @throws AppError import_*, not_found, data_dir_locked, nodes_live. */
export async function importSite(order: ImportOrder): Promise<ImportReport> {
  const { file, dataDir, env } = order;
  if (!existsSync(file)) throw new AppError('not_found', { what: file });
  const files = ensureDataDir(dataDir, env);
  const place = databasePlace(files, env);
  const release = acquireLock(files);
  const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
  try {
    await endRotation({ ...files, database: place }, nativeBinding, rotationStamp(Date.now()));
    if (place.engine === 'sqlite') {
      await migrated(files.database, nativeBinding, order.onJournal);
      const vault = createVault(loadMasterKey(files.secretKey, env));
      return await importToFile({ ...order, files, nativeBinding, vault }, files.database);
    }
    const { openCliNode } = await import('../cluster/cli-node.ts');
    const { database, vault, ledger, close } = await openCliNode(place, files, env, order.notCollected);
    try {
      const work = { ...order, files, nativeBinding, vault };
      if (order.from !== 'litellm') return await importToServer(database, work);
      const sandbox = await openServerSandbox(database);
      return await kept(sandbox, work, async () => litellm(await servicesOn(sandbox, ledger, vault), work));
    } finally {
      await close();
    }
  } finally {
    release();
  }
}

async function migrated(
  file: string,
  nativeBinding: string | undefined,
  onJournal: ImportOrder['onJournal'],
): Promise<void> {
  const database = openDatabase(file, { nativeBinding });
  await migrate(database);
  settleJournal(database, onJournal);
  await database.close();
}

const importToFile = (work: Import, file: string): Promise<ImportReport> => {
  const database = openSandbox(file, work.nativeBinding);
  return kept(database, work, async () => {
    const ledger = createDirectLedger(database);
    const services = await servicesOn(database, ledger, work.vault);
    if (work.from === 'litellm') return litellm(services, work);
    const report = await family({ database, ledger, options: services.options, vault: work.vault }, work.from, work);
    // Secrets of webhooks come as they were written.
    await services.settings.sealReadable();
    return report;
  });
};

/** The books are written into a file, as they always are, and brought to the server whole. */
async function importToServer(database: PostgresDatabase, work: Import): Promise<ImportReport> {
  const { copyFromServer } = await import('../../db/move/snapshot.ts');
  const { rejectLive } = await import('../../db/postgres/exclusive.ts');
  const { fillServer } = await import('../../db/move/fill.ts');
  const { dryRun, nativeBinding } = work;
  if (!dryRun) await rejectLive(database.pool, placeName(database.place));
  const folder = join(work.files.dir, '.importing');
  const file = join(folder, 'gateway.db');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  try {
    await copyFromServer(database, file, nativeBinding);
    const report = await importToFile(work, file);
    if (dryRun) return report;
    const filled = openDatabase(file, { nativeBinding });
    try {
      await fillServer(database, filled);
    } finally {
      await filled.close();
    }
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Closes the database. */
async function kept(
  database: SandboxDatabase,
  { dryRun }: Import,
  work: () => Promise<ImportReport>,
): Promise<ImportReport> {
  try {
    const report = await work();
    if (!dryRun) await database.commit();
    return report;
  } finally {
    await database.close();
  }
}

const servicesOn = (database: Database, ledger: Ledger, vault: Vault): Promise<Services> =>
  createServices({
    ...{ database, vault, ledger, version },
    relayTest: () => Promise.reject(new AppError('setup_needed')),
    setupCode: null,
    now: Date.now,
  });

const litellm = (services: Services, { file, env, language }: Import): Promise<ImportReport> =>
  importLitellm({ ...services, env, language }, readLitellm(file));

/**
 * A configuration with the files that it includes, which LiteLLM appends: lists grow, other members are replaced
 * (`litellm/proxy/common_utils/config_includes.py`). @throws AppError not_found, import_failed
 */
function readLitellm(file: string): unknown {
  const first = resolve(file);
  let whole = yamlIn(first);
  const seen = new Set([first]);
  const pending = includesOf(whole, first);
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const beside = [dirname(next.from), dirname(first)].map((folder) => resolve(folder, next?.name ?? ''));
    const found = beside.find((path) => existsSync(path));
    if (found === undefined) throw new AppError('not_found', { what: `include ${next.name}` });
    if (seen.has(found)) continue;
    seen.add(found);
    const included = yamlIn(found);
    pending.push(...includesOf(included, found));
    for (const [member, value] of Object.entries(included)) {
      const present = whole[member];
      const both = Array.isArray(present) && Array.isArray(value) ? [...present, ...value] : value;
      if (member !== 'include') whole = { ...whole, [member]: both };
    }
  }
  const { include: _, ...rest } = whole;
  return rest;
}

/** PyYAML, which LiteLLM reads with, knows merge keys (`<<`). @throws AppError import_failed */
function yamlIn(file: string): Record<string, unknown> {
  try {
    const value: unknown = parse(readFileSync(file, 'utf8'), { merge: true, uniqueKeys: false });
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch (error) {
    throw new AppError('import_failed', { detail: `${file}: ${error instanceof Error ? error.message : ''}` }, error);
  }
}

const includesOf = ({ include }: Record<string, unknown>, from: string): { name: string; from: string }[] =>
  Array.isArray(include) ? include.filter((name) => typeof name === 'string').map((name) => ({ name, from })) : [];

async function family(
  deps: Pick<ImportDeps, 'database' | 'ledger' | 'options' | 'vault'>,
  from: Family,
  { file, only, nativeBinding, keepPrices, language }: Import,
): Promise<ImportReport> {
  const source = onlyTables(openSource(file, nativeBinding), only);
  try {
    return await importFamily({ ...deps, keepPrices, language, now: Math.floor(Date.now() / 1000) }, source, from);
  } finally {
    source.close();
  }
}

/** Tables that were not selected are left out; rows that belong to a user are imported with the user. */
function onlyTables(
  { tables, rows, close }: ReturnType<typeof openSource>,
  only: readonly string[],
): ReturnType<typeof openSource> {
  if (only.length === 0) return { tables, rows, close };
  const included = new Set(only.flatMap((table) => [table, ...(relatedTables[table] ?? [])]));
  return {
    tables: () => tables().filter((table) => included.has(table)),
    rows: (table) => (included.has(table) ? rows(table) : []),
    close,
  };
}

const sqliteHeader = 'SQLite format 3\0';

/** A source that was killed leaves a write behind that only a writer may undo: nothing is written there from here. */
function sourceFailure(error: unknown): { readonly detail_zh: string; readonly detail_en: string } {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  if (code?.startsWith('SQLITE_READONLY'))
    return {
      detail_zh: '源站在写入过程中停止，请启动它再正常停止一次，或用 sqlite3 打开该文件一次',
      detail_en:
        'the source stopped in the middle of a write; start it and stop it once more, or open the file once with sqlite3',
    };
  return { detail_zh: message ?? String(error), detail_en: message ?? String(error) };
}

/** A SQLite file by its first bytes, everything else is read as a dump. */
function openSource(file: string, nativeBinding: string | undefined): Source & { close(): void } {
  const bytes = readFileSync(file);
  if (bytes.toString('latin1', 0, sqliteHeader.length) === sqliteHeader) {
    try {
      return openSqliteSource(file, nativeBinding);
    } catch (error) {
      throw new AppError('import_failed', sourceFailure(error));
    }
  }
  const tables = readDump(bytes.toString('utf8'));
  if (!tables.has('users') && !tables.has('channels'))
    throw new AppError('import_failed', { detail: 'users, channels' });
  return { tables: () => [...tables.keys()], rows: (table) => tables.get(table) ?? [], close: () => undefined };
}
