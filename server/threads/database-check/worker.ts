/** Thread entry: looks through the database file for damage, quickly first and then in full, without holding up anybody. */
import { fullCheck, quickCheck } from '../../../db/database-file.ts';
import { openDatabase, type SqliteDatabase } from '../../../db/open.ts';

export interface CheckOrder {
  readonly file: string;
  readonly nativeBinding: string | undefined;
}

/** Damage, in SQLite's words; empty = none. */
export interface CheckReport {
  readonly kind: 'quick' | 'full';
  readonly problems: readonly string[];
}

declare const self: {
  onmessage: ((event: MessageEvent<CheckOrder>) => void) | null;
  postMessage(message: CheckReport): void;
};

self.onmessage = ({ data: { file, nativeBinding } }) => {
  const report = (kind: CheckReport['kind'], check: () => readonly string[]) => {
    try {
      self.postMessage({ kind, problems: check() });
    } catch (error) {
      // A file that is no database cannot be checked at all; other damage is found by writers.
      const { code, message } = error as { readonly code?: unknown; readonly message: string };
      self.postMessage({ kind, problems: /^SQLITE_(CORRUPT|NOTADB)/.test(String(code)) ? [message] : [] });
    }
  };
  const open = <Result>(use: (database: SqliteDatabase) => Result): Result => {
    const database = openDatabase(file, { nativeBinding, readonly: true });
    try {
      return use(database);
    } finally {
      database.raw.close();
    }
  };
  report('quick', () => open(quickCheck));
  report('full', () => open(fullCheck));
};
