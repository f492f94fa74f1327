/**
 * How far the ledger had got, noted beside the database: SQLite takes a log with a damaged page for one that ends before it,
 * and says nothing of what stood behind.
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { LedgerStore } from '../ports.ts';

export interface Missing {
  readonly postings: number;
  /** When they were there, epoch milliseconds. */
  readonly at: number;
}

export interface Progress {
  /** Checked before anything is posted. @returns null = nothing is known to be missing. */
  missing(): Missing | null;
  /** Notes how far it is now, where that is news. */
  note(): void;
}

export const progressFile = (database: string): string => `${database}.mark`;

/** @param now epoch milliseconds. */
export function createProgress(database: string, store: Pick<LedgerStore, 'lastPosting'>, now: () => number): Progress {
  const file = progressFile(database);
  let noted = 0;
  return {
    missing() {
      const known = readMark(file);
      if (known === null) return null;
      const postings = known.last - store.lastPosting();
      return postings > 0 ? { postings, at: known.at } : null;
    },
    note() {
      try {
        const last = store.lastPosting();
        if (last === noted) return;
        writeFileSync(`${file}.new`, JSON.stringify({ last, at: now() }), { mode: 0o600 });
        renameSync(`${file}.new`, file);
        noted = last;
      } catch {
        // reason: the disk alone. A full one is reported elsewhere; an older note is still true.
      }
    },
  };
}

function readMark(file: string): { readonly last: number; readonly at: number } | null {
  try {
    const { last, at } = JSON.parse(readFileSync(file, 'utf8')) as { last?: unknown; at?: unknown };
    return Number.isSafeInteger(last) && Number.isSafeInteger(at) ? { last: Number(last), at: Number(at) } : null;
  } catch {
    // reason: a file that is missing, or holds something else.
    return null;
  }
}
