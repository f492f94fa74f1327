/** Applies the commands that a journal holds and the tables lack, before anybody reads or writes the tables. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import type { LedgerStore } from '../../server/billing/ports.ts';
import type { Language } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';
import { createLedgerStore } from '../ledger/sqlite/store.ts';
import { openDatabase, type SqliteDatabase } from '../open.ts';
import { journalBytes, journalFiles, openJournalFile, syncFolder } from './files.ts';
import { type FoundCommands, headerBytes, isQuiet, readJournal, survivors } from './format.ts';
import { contentsOf, Journal, type JournalFile, linesOf } from './journal.ts';

export interface Replayed {
  /** Written now. */
  readonly settled: number;
  /** Lines that the ledger's rules or the schema turned down, as `ref: reason`. */
  readonly rejected: readonly string[];
  /** Where these are now, '' = there are none. */
  readonly kept: string;
  /** Bytes behind the last whole batch are damaged, or were never confirmed. */
  readonly isTorn: boolean;
  /** So many confirmed commands are neither in the files nor in the tables: these are an older copy. */
  readonly missing: number;
  /** Files of another database that were moved aside. */
  readonly aside: readonly string[];
}

/** For the operator. */
export type JournalNotice = Readonly<Record<Language, string>>;

export interface OpenedJournal {
  readonly replayed: Replayed;
  /** Everything in it is in the tables, and durable there; null = there is no journal yet. */
  readonly journal: Journal | null;
}

const sliceCommands = 500;
const nothingReplayed: Replayed = { settled: 0, rejected: [], kept: '', isTorn: false, missing: 0, aside: [] };
const nothing: OpenedJournal = { replayed: nothingReplayed, journal: null };

/** @param database path of the file that `store` writes. @throws AppError journal_damaged, journal_foreign; the disk's or the driver's error. */
export function openJournal(database: string, store: LedgerStore): OpenedJournal {
  const [one = null, other = null] = journalFiles(database).map((path) => openJournalFile(path));
  const files = [one, other].flatMap((file) => file ?? []);
  if (files.length === 0) return nothing;
  let isInUse = false;
  try {
    const opened = replayFiles(files, database, store);
    // Files that somebody shortened or took away are made anew.
    isInUse = opened.journal !== null && files.every(({ size }) => size === journalBytes);
    return isInUse ? opened : { ...opened, journal: null };
  } finally {
    if (!isInUse) for (const file of files) file.close();
  }
}

/** @param files both, or what is there of them. @throws as `openJournal`. */
export function replayFiles(files: readonly JournalFile[], database: string, store: LedgerStore): OpenedJournal {
  const { id, applied, isNew } = store.journal();
  const found = contentsOf(files, id, applied);
  const file = `${database}.journal-1, -2`;
  if (found.kind === 'foreign') {
    if (!isNew) throw new AppError('journal_foreign', { file });
    // A copy from before there were journals took the place of the database that this one belongs to.
    const aside = journalFiles(database)
      .filter(existsSync)
      .map((path) => moveAside(path));
    return { replayed: { ...nothingReplayed, aside }, journal: null };
  }
  if (found.kind === 'damaged') throw new AppError('journal_damaged', { file, count: found.to - found.from + 1 });
  const replayed = replay(database, store, found);
  // Commits of the process before may not be durable yet, and an older copy of the tables has an older mark.
  if (found.last > applied || (!found.isClosed && found.last > 0)) store.apply([], found.last);
  const [one, other] = files;
  if (one === undefined || other === undefined) return { replayed, journal: null };
  const journal = new Journal([one, other], id, found);
  // The process before may have ended because a sync failed: only the file itself says what is durable.
  if (!found.isClosed && isFolded(store)) close(journal);
  return { replayed, journal };
}

/** An earlier one that was moved aside stays. */
function moveAside(path: string): string {
  const free = ['', ...Array.from({ length: 99 }, (_, at) => `-${at + 2}`)].find(
    (end) => !existsSync(`${path}.foreign${end}`),
  );
  const aside = `${path}.foreign${free ?? ''}`;
  renameSync(path, aside);
  return aside;
}

/** One line each for the operator; empty = all was well. */
export function replayNotices({ isTorn, missing, aside, rejected, kept }: Replayed): JournalNotice[] {
  const lines: JournalNotice[] = [];
  if (isTorn)
    lines.push({
      zh: '账本日志的末尾不完整：断电时正在写入且尚未确认，或最后确认的账目已损坏并丢失',
      en: 'the end of the ledger journal is not whole: it was being written when the power failed and was never confirmed, or the last confirmed charges are damaged and lost',
    });
  if (missing > 0)
    lines.push({
      zh: `${missing} 条已确认的账目既不在账本日志中，也不在数据库中：数据库是较早的副本`,
      en: `confirmed charges that are neither in the ledger journal nor in the database, which is an older copy: ${missing}`,
    });
  if (aside.length > 0)
    lines.push({
      zh: `另一数据库的账本日志已移开，未读取：${aside.join('、')}`,
      en: `the ledger journal of another database was moved aside and not read: ${aside.join(', ')}`,
    });
  for (const line of rejected)
    lines.push({
      zh: `账本日志中的账目被拒绝：${line}；见 ${kept}`,
      en: `in the ledger journal and turned down: ${line}; see ${kept}`,
    });
  return lines;
}

function isFolded(store: LedgerStore): boolean {
  try {
    return store.checkpoint('TRUNCATE');
  } catch {
    // reason: the disk alone. The journal stays open, and the next opening tries again.
    return false;
  }
}

function close(journal: Journal): void {
  try {
    journal.settled();
  } catch {
    // reason: the disk alone. Whoever opens it next reads the same again, and finds it in the tables.
  }
}

/** The same for a process that writes no journal. @param database migrated. @param report called with what was odd about it. */
export function settleJournal(database: SqliteDatabase, report: (notice: JournalNotice) => void): void {
  const file = database.raw.name;
  if (!journalFiles(file).some(existsSync)) return;
  const { replayed, journal } = openJournal(file, createLedgerStore(database.raw));
  journal?.close();
  for (const notice of replayNotices(replayed)) report(notice);
}

/** @param files just made. */
export function newJournal(files: readonly [JournalFile, JournalFile], store: LedgerStore): Journal {
  const { id, applied } = store.journal();
  return new Journal(files, id, {
    ...{ kind: 'found', commands: [], first: applied + 1, last: applied, missing: 0, isTorn: false, isClosed: false },
    ...{ generation: 0, newest: -1 },
  });
}

function replay(database: string, store: LedgerStore, { commands, first, isTorn, missing }: FoundCommands): Replayed {
  const path = rejectedFile(database);
  const rejected: string[] = [];
  let settled = 0;
  const reject = (command: LedgerCommand, reason: string) => {
    keepLines(path, [command]);
    rejected.push(`${command.ref}: ${reason}`);
  };
  const apply = (slice: readonly LedgerCommand[], through: number) => {
    const { results } = store.apply(slice, through);
    for (const [index, command] of slice.entries()) {
      const result = results[index];
      if (result?.status === 'done') settled += command.type === 'settle' ? 1 : 0;
      else if (result?.status === 'refused') reject(command, result.reason);
      else if (result?.status === 'conflict') reject(command, 'conflict');
    }
  };
  for (let at = 0; at < commands.length; at += sliceCommands) {
    const slice = commands.slice(at, at + sliceCommands);
    try {
      apply(slice, first + at + slice.length - 1);
    } catch (error) {
      if (!store.isInvalidCommand(error)) throw error;
      for (const [index, command] of slice.entries())
        try {
          apply([command], first + at + index);
        } catch (failure) {
          if (!store.isInvalidCommand(failure)) throw failure;
          // Else the server would never start again.
          reject(command, failure instanceof Error ? failure.message : String(failure));
        }
    }
  }
  return { settled, rejected, kept: rejected.length === 0 ? '' : path, isTorn, missing, aside: [] };
}

/** A file of rejected commands beside the database, in the form of the owed ones; nothing reads it again. */
const rejectedFile = (database: string): string => join(dirname(database), 'gateway.owed-journal.jsonl.refused');

/** Durable when it returns. */
function keepLines(path: string, commands: readonly LedgerCommand[]): void {
  const descriptor = openSync(path, 'a', 0o600);
  try {
    const text = Buffer.from(`${linesOf(commands)}\n`);
    for (let at = 0; at < text.length; ) at += writeSync(descriptor, text, at);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  syncFolder(dirname(path));
}

/**
 * What the tables turned down after it was acknowledged, for the operator to look at.
 * @returns the path of the file that it is added to; '' = its disk does not take it.
 */
export function keepRejected(database: string, command: LedgerCommand): string {
  const path = rejectedFile(database);
  try {
    keepLines(path, [command]);
    return path;
  } catch {
    // reason: the disk alone. The command is acknowledged and its batch is committed: the log names it.
    return '';
  }
}

/** All of them under the name, or none: the next start settles what such a file says, and has to understand each line. */
export function owe(path: string, commands: readonly LedgerCommand[]): void {
  if (commands.length === 0) return;
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  keepLines(draft, commands);
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/**
 * For a database that is damaged: what it may lack is owed to the one that takes its place.
 * @param path of the file. @param applied what its tables have, 0 = nobody knows.
 */
export function owedByJournal(database: string, path: string, applied: number): void {
  owe(path, survivors(bytesBeside(database), applied));
}

function bytesBeside(database: string): Buffer[] {
  return journalFiles(database).map((file) => {
    try {
      return readFileSync(file);
    } catch {
      return Buffer.alloc(0);
    }
  });
}

const owedKey = 'journal_owed';

/** A copy takes along what its original has in the journal alone. @param file of the copy. */
export function packJournal(database: SqliteDatabase, file: string): void {
  const id = database.raw.prepare<string>("SELECT value FROM meta WHERE key = 'journal_id'").pluck().get();
  if (id === undefined) return;
  const files = bytesBeside(database.raw.name);
  const applied = appliedIn(database);
  const contents = readJournal(files, id, applied);
  if (contents.kind === 'foreign') return;
  const commands = contents.kind === 'found' ? contents.commands : survivors(files, applied);
  if (commands.length === 0) return;
  const copy = openDatabase(file, { nativeBinding: database.nativeBinding });
  try {
    copy.raw.prepare('INSERT INTO meta (key, value) VALUES (?, ?)').run(owedKey, linesOf(commands));
    copy.raw.pragma('journal_mode = DELETE');
  } finally {
    copy.raw.close();
  }
}

/** @returns the commands that a copy took along and its tables lack. @throws the driver's error */
export function packedIn({ raw }: SqliteDatabase): LedgerCommand[] {
  const lines = raw.prepare<string>('SELECT value FROM meta WHERE key = ?').pluck().get(owedKey);
  return lines?.split('\n').map((line) => JSON.parse(line) as LedgerCommand) ?? [];
}

/** @returns whether there is a journal that may hold what the tables lack. @throws the disk's error */
export function holdsMore(database: string): boolean {
  const files = journalFiles(database).flatMap((path) => openJournalFile(path, 'r') ?? []);
  try {
    return !isQuiet(files.map((file) => file.read(headerBytes)));
  } finally {
    for (const file of files) file.close();
  }
}

/** Sequence number of the last command of the journal that the tables have. @throws the driver's error */
export const appliedIn = ({ raw }: SqliteDatabase): number =>
  Number(raw.prepare<string>("SELECT value FROM meta WHERE key = 'journal_applied'").pluck().get() ?? 0);

/** Forgets the journal in a copy, which has none. */
export function forgetJournal({ raw }: SqliteDatabase): void {
  raw.exec("DELETE FROM meta WHERE key IN ('journal_id', 'journal_applied', 'journal_owed')");
}

/** Removes the journal of a database that is no longer there. */
export function removeJournal(database: string): void {
  for (const file of journalFiles(database)) rmSync(file, { force: true });
}
