/** Two files beside a node: settlements for a database that cannot be reached, durable once written; and batches that it acknowledged lately, handed to the system once written. */
import BetterSqlite from 'better-sqlite3';
import type { LedgerCommand } from '../server/billing/ledger/commands.ts';
import type { BatchMark } from '../server/billing/ports.ts';
import { keepPrivate } from './private-file.ts';

export interface KeptRow {
  readonly number: number;
  readonly command: string;
}

export interface OutboxFile {
  insert(commands: readonly LedgerCommand[]): number[];
  after(number: number, max: number): KeptRow[];
  remove(numbers: readonly number[]): void;
  count(): number;
  close(): void;
}

export interface AcknowledgedFile {
  insert(mark: BatchMark, at: number, commands: readonly LedgerCommand[]): void;
  remove(mark: BatchMark): void;
  /** Commands of later batches of the same run, oldest first. */
  since(mark: BatchMark): LedgerCommand[];
  /** Removes later batches of the same run. */
  removeSince(mark: BatchMark): void;
  /** The last of each run. */
  marks(): BatchMark[];
  /** @returns when the last batch was kept, 0 = there is none. */
  newest(): number;
  deleteBefore(at: number): void;
  /** Writes as much as a batch takes, and nothing that stays. */
  check(): void;
  close(): void;
}

/** A process that is about to end has so long to let go of it. */
const busyMs = 1000;

/** For this process alone, until it closes it or is gone: the system sees to that, across containers as well. */
const open = (file: string, nativeBinding: string | undefined, synchronous: 'FULL' | 'OFF') => {
  keepPrivate(file);
  const raw = new BetterSqlite(file, { timeout: busyMs, ...(nativeBinding === undefined ? {} : { nativeBinding }) });
  raw.pragma('locking_mode = EXCLUSIVE');
  raw.pragma('journal_mode = WAL');
  raw.pragma(`synchronous = ${synchronous}`);
  return raw;
};

/** @throws the driver's error; SQLITE_BUSY where another process has it. */
export function openOutboxFile(file: string, nativeBinding?: string): OutboxFile {
  const raw = open(file, nativeBinding, 'FULL');
  raw.exec('CREATE TABLE IF NOT EXISTS owed (number INTEGER PRIMARY KEY AUTOINCREMENT, command TEXT NOT NULL) STRICT');
  const insert = raw.prepare<{ number: number }>('INSERT INTO owed (command) VALUES (?) RETURNING number');
  const after = raw.prepare<KeptRow>('SELECT number, command FROM owed WHERE number > ? ORDER BY number LIMIT ?');
  const remove = raw.prepare('DELETE FROM owed WHERE number = ?');
  const count = raw.prepare<{ n: number }>('SELECT count(*) AS n FROM owed');
  return {
    insert: raw.transaction((commands: readonly LedgerCommand[]) =>
      commands.map((command) => insert.get(JSON.stringify(command))?.number ?? 0),
    ),
    after: (number, max) => after.all(number, max),
    remove: raw.transaction((numbers: readonly number[]) => {
      for (const number of numbers) remove.run(number);
    }),
    count: () => count.get()?.n ?? 0,
    close: () => void raw.close(),
  };
}

/** About as much as a batch of some dozen requests takes. */
const initialBytes = 65_536;

/** @param maxPages of 4 KiB; default: as many as the disk has. @throws the driver's error. */
export function openAcknowledgedFile(file: string, nativeBinding?: string, maxPages?: number): AcknowledgedFile {
  const raw = open(file, nativeBinding, 'OFF');
  if (maxPages !== undefined) raw.pragma(`max_page_count = ${maxPages}`);
  // Version 1 named its batches by their epoch alone; it kept them for minutes.
  raw.exec(`DROP TABLE IF EXISTS batches;
    CREATE TABLE IF NOT EXISTS confirmed (epoch INTEGER NOT NULL, run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
      commands TEXT NOT NULL, PRIMARY KEY (epoch, run, seq)) STRICT, WITHOUT ROWID`);
  const insert = raw.prepare('INSERT OR REPLACE INTO confirmed (epoch, run, seq, at, commands) VALUES (?, ?, ?, ?, ?)');
  const remove = raw.prepare('DELETE FROM confirmed WHERE epoch = ? AND run = ? AND seq = ?');
  const since = raw.prepare<{ commands: string }>(
    'SELECT commands FROM confirmed WHERE epoch = ? AND run = ? AND seq > ? ORDER BY seq',
  );
  const removeSince = raw.prepare('DELETE FROM confirmed WHERE epoch = ? AND run = ? AND seq > ?');
  const marks = raw.prepare<BatchMark>('SELECT epoch, run, max(seq) AS seq FROM confirmed GROUP BY epoch, run');
  const newest = raw.prepare<{ at: number }>('SELECT coalesce(max(at), 0) AS at FROM confirmed');
  const deleteOld = raw.prepare('DELETE FROM confirmed WHERE at < ?');
  return {
    insert: ({ epoch, run, seq }, at, commands) => void insert.run(epoch, run, seq, at, JSON.stringify(commands)),
    remove: ({ epoch, run, seq }) => void remove.run(epoch, run, seq),
    since: ({ epoch, run, seq }) =>
      since.all(epoch, run, seq).flatMap(({ commands }) => JSON.parse(commands) as LedgerCommand[]),
    removeSince: ({ epoch, run, seq }) => void removeSince.run(epoch, run, seq),
    marks: () => marks.all(),
    newest: () => newest.get()?.at ?? 0,
    deleteBefore: (at) => void deleteOld.run(at),
    check() {
      insert.run(0, '', 0, 0, ' '.repeat(initialBytes));
      remove.run(0, '', 0);
    },
    close: () => void raw.close(),
  };
}
