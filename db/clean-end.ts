/**
 * A note beside a database file that says that it was closed in order, as it is. Who finds it need not look through the
 * file before it is used: a look reads all of it, which takes the longer the more there is.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { newestSqlite } from './schema/migrations.ts';

const noteOf = (file: string): string => `${file}.clean`;

/**
 * Facts that change with the file (size, times, inode), or with the log that somebody else's connection left beside it: whoever reads while the last
 * writer ends, such as the look through the file itself, keeps the log from being folded in, and it is part of the file then.
 * A migration looks through the file first, so the schema that this build makes is part of it.
 */
function stateOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return null;
  const log = statSync(`${file}-wal`, { bigint: true, throwIfNoEntry: false });
  const beside = log === undefined || log.size === 0n ? '' : ` ${log.ino} ${log.size} ${log.mtimeNs}`;
  return `${found.ino} ${found.size} ${found.mtimeNs} ${newestSqlite}${beside}\n`;
}

/** To be called before the file is opened for writing: the note is gone then. @returns whether it was there, and true. */
export function takeCleanEnd(file: string): boolean {
  let note: string;
  try {
    note = readFileSync(noteOf(file), 'utf8');
    rmSync(noteOf(file));
  } catch {
    return false;
  }
  return note === stateOf(file);
}

/** To be called when every connection is closed and nothing was wrong. Nobody misses it where it cannot be written. */
export function writeCleanEnd(file: string): void {
  const state = stateOf(file);
  if (state === null) return;
  try {
    writeFileSync(noteOf(file), state, { mode: 0o600 });
  } catch {
    // The next start looks through the file, as after a crash.
  }
}
