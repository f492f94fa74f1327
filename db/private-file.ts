/** Files that hold everything are their owner's alone, whatever the folder and the umask say. */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { journalEndings } from './journal/files.ts';

const othersMask = 0o077;

/** Creates a missing file empty, which a database may be, and takes others' rights to read or write an existing one. The log and a journal beside it have the same mode. */
export function keepPrivate(file: string): void {
  if (file === '' || file === ':memory:') return;
  try {
    closeSync(openSync(file, 'a', 0o600));
  } catch {
    // Opening the database reports the reason in its own words.
    return;
  }
  // Windows has no modes: it reports that everybody may read everything, and refuses a change of a file that is in use.
  if (process.platform === 'win32') return;
  for (const end of ['', '-wal', '-shm', ...journalEndings]) {
    const path = file + end;
    if (!existsSync(path)) continue;
    const { mode } = statSync(path);
    if ((mode & othersMask) === 0) continue;
    try {
      chmodSync(path, mode & 0o777 & ~othersMask);
    } catch (error) {
      // A file of another user that we may write: its owner has to close it, and `doctor` says so.
      if ((error as { code?: unknown }).code !== 'EPERM') throw error;
    }
  }
}
