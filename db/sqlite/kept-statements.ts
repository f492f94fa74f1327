/** Prepared statements of a connection, kept by their text: preparing one, and making what builds its rows, takes thrice as long as running most of them. */
import type { Database as RawDatabase, Statement } from 'better-sqlite3';
import type { SqliteDatabase as KyselyDatabase } from 'kysely';

/** What the API asks again and again; a statement over a wide table takes 22 KB. */
const maxKept = 64;
/** Longer ones have a place for each of many values, and seldom come twice. */
const maxLength = 4000;

/**
 * What Kysely prepares its statements with. A statement whose tables were changed since, by any connection, is prepared
 * anew by SQLite, and the driver then makes its rows of the new columns. Nobody streams from it: while a statement is
 * iterated over it cannot run a second time.
 */
export function keepingStatements(raw: RawDatabase): KyselyDatabase {
  /** The one that was used last comes last. */
  const kept = new Map<string, Statement>();
  return {
    prepare(text) {
      const known = kept.get(text);
      const statement = known ?? raw.prepare(text);
      if (text.length > maxLength) return statement;
      if (known !== undefined) kept.delete(text);
      else if (kept.size >= maxKept)
        for (const [oldest] of kept) {
          kept.delete(oldest);
          break;
        }
      kept.set(text, statement);
      return statement;
    },
    close() {
      kept.clear();
      raw.close();
    },
  };
}
