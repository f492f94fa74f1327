/** The journal's files on a disk, beside the database. */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Timer, Timers } from '../../server/contract/timers.ts';
import type { JournalFile } from './journal.ts';

/** Endings that the journal's files add to the database's name. Not `-journal`, which is SQLite's own. */
export const journalEndings = ['.journal-1', '.journal-2'] as const;

export const journalFiles = (database: string): string[] => journalEndings.map((end) => database + end);

/** Some 6,500 settlements. */
export const journalBytes = 8 * 1024 * 1024;

const partBytes = 1024 * 1024;
/** A larger write makes larger pieces in memory, and Linux then writes and counts a whole one for each frame: 1 MB for 1 KB. */
const page = Buffer.alloc(4096);
const betweenPartsMs = 20;
const againMs = 60_000;

/** @throws the disk's error. @returns null where there is none. */
export function openJournalFile(path: string, mode: 'r' | 'r+' = 'r+'): JournalFile | null {
  if (!existsSync(path)) return null;
  const descriptor = openSync(path, mode);
  return fileOf(descriptor, fstatSync(descriptor).size);
}

function fileOf(descriptor: number, size: number): JournalFile {
  return {
    size,
    read(most = size) {
      const length = Math.min(most, size);
      const bytes = Buffer.allocUnsafe(length);
      for (let at = 0; at < length; ) {
        const read = readSync(descriptor, bytes, at, length - at, at);
        if (read === 0) throw new Error('the journal ends early');
        at += read;
      }
      return bytes;
    },
    write(bytes, at) {
      for (let written = 0; written < bytes.length; )
        written += writeSync(descriptor, bytes, written, bytes.length - written, at + written);
    },
    sync: () => fdatasyncSync(descriptor),
    close: () => closeSync(descriptor),
  };
}

/**
 * Makes both files, of zeros, so that later writes find their blocks: little by little, because whoever waits for a sync
 * waits for this too. Where there is no room it is tried again later.
 * @param made called once, when both are durable. @returns what gives it up.
 */
export function growJournal(
  database: string,
  made: (files: readonly [JournalFile, JournalFile]) => void,
  timers: Pick<Timers, 'set'>,
): Timer {
  let descriptors: number[] = [];
  let timer: Timer | null = null;
  const paths = journalFiles(database);
  const remove = () => {
    for (const [at, descriptor] of descriptors.entries()) {
      closeSync(descriptor);
      rmSync(paths[at] ?? '', { force: true });
    }
    descriptors = [];
  };
  const step = (bytes: number) => {
    try {
      if (descriptors.length === 0) for (const path of paths) descriptors.push(openSync(path, 'w+', 0o600));
      for (const descriptor of descriptors) {
        for (let at = bytes; at < bytes + partBytes; at += page.length) writeSync(descriptor, page, 0, page.length, at);
        fsyncSync(descriptor);
      }
      const size = bytes + partBytes;
      if (size < journalBytes) {
        timer = timers.set(() => step(size), betweenPartsMs);
        return;
      }
      syncFolder(dirname(database));
      const [one, other] = descriptors;
      descriptors = [];
      if (one !== undefined && other !== undefined) made([fileOf(one, size), fileOf(other, size)]);
    } catch {
      // reason: the disk alone; the tables are written at once, as without a journal.
      remove();
      timer = timers.set(() => step(0), againMs);
    }
  };
  timer = timers.set(() => step(0), betweenPartsMs);
  const close = () => {
    timer?.close();
    remove();
  };
  return { close, unref: () => timer?.unref() };
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
