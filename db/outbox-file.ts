/** Two files beside a node: what is owed to books that cannot be reached, durable when written; and what they acknowledged lately, as far as the disk has come. */
import BetterSqlite from 'better-sqlite3';
import type { LedgerCommand } from '../server/ledger/commands.ts';
import { keepPrivate } from './private-file.ts';

export interface KeptRow {
  readonly number: number;
  readonly command: string;
}

export interface OutboxFile {
  insert(commands: readonly LedgerCommand[]): number[];
  after(number: number, most: number): KeptRow[];
  remove(numbers: readonly number[]): void;
  count(): number;
  close(): void;
}

export interface AcknowledgedFile {
  insert(epoch: number, seq: number, at: number, commands: readonly LedgerCommand[]): void;
  /** Commands of batches later than that, oldest first. */
  since(epoch: number, seq: number): LedgerCommand[];
  /** The last of each epoch. */
  marks(): { readonly epoch: number; readonly seq: number }[];
  forgetBefore(at: number): void;
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
    after: (number, most) => after.all(number, most),
    remove: raw.transaction((numbers: readonly number[]) => {
      for (const number of numbers) remove.run(number);
    }),
    count: () => count.get()?.n ?? 0,
    close: () => void raw.close(),
  };
}

/** @throws the driver's error. */
export function openAcknowledgedFile(file: string, nativeBinding?: string): AcknowledgedFile {
  const raw = open(file, nativeBinding, 'OFF');
  raw.exec(
    'CREATE TABLE IF NOT EXISTS batches (epoch INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, commands TEXT NOT NULL, PRIMARY KEY (epoch, seq)) STRICT, WITHOUT ROWID',
  );
  const insert = raw.prepare('INSERT OR REPLACE INTO batches (epoch, seq, at, commands) VALUES (?, ?, ?, ?)');
  const since = raw.prepare<{ commands: string }>(
    'SELECT commands FROM batches WHERE epoch = ? AND seq > ? ORDER BY seq',
  );
  const marks = raw.prepare<{ epoch: number; seq: number }>(
    'SELECT epoch, max(seq) AS seq FROM batches GROUP BY epoch',
  );
  const forget = raw.prepare('DELETE FROM batches WHERE at < ?');
  return {
    insert: (epoch, seq, at, commands) => void insert.run(epoch, seq, at, JSON.stringify(commands)),
    since: (epoch, seq) => since.all(epoch, seq).flatMap(({ commands }) => JSON.parse(commands) as LedgerCommand[]),
    marks: () => marks.all(),
    forgetBefore: (at) => void forget.run(at),
    close: () => void raw.close(),
  };
}
