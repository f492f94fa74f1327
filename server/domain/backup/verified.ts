/** A backup that is worth its name: written from the database as it is, opened again, every page looked at, every book added up. Blocks its thread meanwhile. */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type BackupHeader, extractBackup, writeBackup } from '../../../db/backup-file.ts';
import { checkDatabase } from '../../../db/database-file.ts';
import { ledgerStats } from '../../../db/ledger/sqlite/stats.ts';
import { openDatabase } from '../../../db/open.ts';
import type { DatabasePlace } from '../../../db/place.ts';
import { portableCopy } from '../../../db/site-checks.ts';
import { type InvariantReport, reportsOf } from '../../billing/ledger/verify.ts';
import { AppError } from '../../contract/errors.ts';

export interface BackupOrder {
  /** null = only a backup that is there already is looked at. */
  readonly source: DatabasePlace | null;
  /** The backup. */
  readonly target: string;
  readonly nativeBinding: string | undefined;
  readonly version: string;
  /** Epoch seconds. */
  readonly at: number;
}

/** @throws AppError backup_unwritable, backup_damaged, backup_unsound; then nothing is left at `target`. */
export async function verifiedBackup(order: BackupOrder): Promise<BackupHeader> {
  try {
    if (order.source !== null) await write(order.source, order);
    return await verify(order);
  } catch (error) {
    rmSync(order.target, { force: true });
    throw error;
  }
}

async function write(source: DatabasePlace, { target, nativeBinding, version, at }: BackupOrder): Promise<void> {
  const copy = `${target}.copy`;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    for (const file of [copy, target]) rmSync(file, { force: true });
    const database = await openDatabase(source, { nativeBinding, connections: 1 });
    try {
      const schema = await portableCopy(database, copy, nativeBinding);
      await writeBackup(target, copy, { schema, version, created_at: at });
    } finally {
      await database.close();
    }
  } catch (error) {
    const detail = error instanceof Error ? error.message : '';
    throw new AppError('backup_unwritable', { file: target, detail }, error);
  } finally {
    rmSync(copy, { force: true });
  }
}

async function verify({ target, nativeBinding }: BackupOrder): Promise<BackupHeader> {
  const opened = `${target}.opened`;
  try {
    const header = await extractBackup(target, opened);
    const database = openDatabase(opened, { nativeBinding });
    try {
      const { problems } = checkDatabase(database);
      const broken = reportsOf(ledgerStats(database.raw)).filter(({ violations }) => violations > 0);
      const [problem] = problems;
      const [first] = broken;
      if (problem !== undefined) throw new AppError('backup_unsound', { detail: problem });
      if (first !== undefined) throw new AppError('backup_unsound', unsoundWords(first));
    } finally {
      await database.close();
    }
    return header;
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(opened + end, { force: true });
  }
}

/** What does not hold, in words before its name and an example. */
function unsoundWords({ id, zh, en, examples }: InvariantReport) {
  const found = `${id}: ${examples[0] ?? ''}`;
  return {
    detail: found,
    detail_zh: `“${zh}”不成立（${found}）`,
    detail_en: `it does not hold that ${en} (${found})`,
  };
}
