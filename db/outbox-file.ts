/** Two files beside a node: settlements for a database that cannot be reached, durable once written; and batches that it acknowledged lately, handed to the system once written. */
import { existsSync, renameSync } from 'node:fs';
import BetterSqlite, { type Database as RawDatabase } from 'better-sqlite3';
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
  try {
    raw.pragma('locking_mode = EXCLUSIVE');
    raw.pragma('journal_mode = WAL');
    raw.pragma(`synchronous = ${synchronous}`);
  } catch (error) {
    raw.close();
    throw error;
  }
  return raw;
};

/** A file that a power cut or a disk had damaged, and where it went. */
export interface DamagedFile {
  /** Path of the file that was set aside. */
  readonly path: string;
  /** The driver's words. */
  readonly detail: string;
  /** Rows that could be read and are in the new file. */
  readonly read: number;
}

const isDamaged = (error: unknown): boolean =>
  /^SQLITE_(CORRUPT|NOTADB)/.test(String((error as { code?: unknown } | null)?.code));

const detailOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The file and its log leave the place under another name. @returns the path of the file. */
function setAside(file: string): string {
  let number = 1;
  while (existsSync(`${file}.damaged-${number}`)) number++;
  const path = `${file}.damaged-${number}`;
  // The log's name follows the file's: what is in it can be read together with it.
  for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) renameSync(file + end, path + end);
  return path;
}

/** A page that nothing has read yet may be damaged too. @throws an error that `isDamaged` knows. */
function checkPages(raw: RawDatabase): void {
  const found = raw.pragma('quick_check(1)', { simple: true });
  if (found !== 'ok') throw Object.assign(new Error(String(found)), { code: 'SQLITE_CORRUPT' });
}

/**
 * @param onDamage is called where the file was damaged: then a new one has what could be read of it.
 * @throws the driver's error; SQLITE_BUSY where another process has it.
 */
export function openOutboxFile(
  file: string,
  nativeBinding?: string,
  onDamage: (damaged: DamagedFile) => void = () => undefined,
): OutboxFile {
  try {
    return readOutboxFile(file, nativeBinding);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const path = setAside(file);
    const commands = readableCommands(path, nativeBinding);
    const fresh = readOutboxFile(file, nativeBinding);
    fresh.insert(commands);
    onDamage({ path, detail: detailOf(error), read: commands.length });
    return fresh;
  }
}

/** From both ends up to the damage. */
function readableCommands(path: string, nativeBinding: string | undefined): LedgerCommand[] {
  const found = new Map<number, LedgerCommand>();
  let raw: RawDatabase | undefined;
  for (const [order, sign, start] of [
    ['ASC', '>', 0],
    ['DESC', '<', Number.MAX_SAFE_INTEGER],
  ] as const) {
    try {
      raw ??= open(path, nativeBinding, 'FULL');
      const next = raw.prepare<KeptRow>(
        `SELECT number, command FROM owed WHERE number ${sign} ? ORDER BY number ${order} LIMIT 1`,
      );
      for (let row = next.get(start); row !== undefined && !found.has(row.number); row = next.get(row.number))
        found.set(row.number, JSON.parse(row.command) as LedgerCommand);
    } catch {
      // The damage begins here; what lies behind it is read from the other end.
    }
  }
  raw?.close();
  return [...found].sort(([one], [other]) => one - other).map(([, command]) => command);
}

function readOutboxFile(file: string, nativeBinding: string | undefined): OutboxFile {
  const raw = open(file, nativeBinding, 'FULL');
  try {
    raw.exec(
      'CREATE TABLE IF NOT EXISTS owed (number INTEGER PRIMARY KEY AUTOINCREMENT, command TEXT NOT NULL) STRICT',
    );
    checkPages(raw);
  } catch (error) {
    raw.close();
    throw error;
  }
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

/**
 * A copy for the case that the database loses its last minutes: it never stops a node. Where it is damaged, at the start or
 * later, it is set aside and begun anew.
 * @param maxPages of 4 KiB; default: as many as the disk has.
 * @throws the driver's error.
 */
export function openAcknowledgedFile(
  file: string,
  nativeBinding?: string,
  maxPages?: number,
  onDamage: (damaged: DamagedFile) => void = () => undefined,
): AcknowledgedFile {
  let current: AcknowledgedFile | null = null;
  const opened = (): AcknowledgedFile => {
    current ??= readAcknowledgedFile(file, nativeBinding, maxPages);
    return current;
  };
  const within = <T>(use: (file: AcknowledgedFile) => T): T => {
    try {
      return use(opened());
    } catch (error) {
      if (!isDamaged(error)) throw error;
      current?.close();
      current = null;
      const path = setAside(file);
      onDamage({ path, detail: detailOf(error), read: 0 });
      return use(opened());
    }
  };
  within(() => undefined);
  return {
    insert: (mark, at, commands) => within((one) => one.insert(mark, at, commands)),
    remove: (mark) => within((one) => one.remove(mark)),
    since: (mark) => within((one) => one.since(mark)),
    removeSince: (mark) => within((one) => one.removeSince(mark)),
    marks: () => within((one) => one.marks()),
    newest: () => within((one) => one.newest()),
    deleteBefore: (at) => within((one) => one.deleteBefore(at)),
    check: () => within((one) => one.check()),
    close: () => current?.close(),
  };
}

function readAcknowledgedFile(
  file: string,
  nativeBinding: string | undefined,
  maxPages: number | undefined,
): AcknowledgedFile {
  const raw = open(file, nativeBinding, 'OFF');
  try {
    if (maxPages !== undefined) raw.pragma(`max_page_count = ${maxPages}`);
    // Version 1 named its batches by their epoch alone; it kept them for minutes.
    raw.exec(`DROP TABLE IF EXISTS batches;
      CREATE TABLE IF NOT EXISTS confirmed (epoch INTEGER NOT NULL, run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
        commands TEXT NOT NULL, PRIMARY KEY (epoch, run, seq)) STRICT, WITHOUT ROWID`);
    checkPages(raw);
  } catch (error) {
    raw.close();
    throw error;
  }
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
