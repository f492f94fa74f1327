/** Items of answers, in a file of their own beside the database: they come and go, and no book depends on them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import BetterSqlite, { type Database as RawDatabase } from 'better-sqlite3';
import type { Kept, KeptItemLimits, KeptItems } from './kept-item.ts';
import type { Database, SqliteDatabase } from './open.ts';
import { createPostgresKeptItems } from './postgres/kept-items.ts';
import { keepPrivate } from './private-file.ts';

const usual: KeptItemLimits = { perUser: 64 * 1024 * 1024, inAll: 256 * 1024 * 1024 };
const dayMs = 86_400_000;
/** Between two looks at what is too old or too much. */
const sweepMs = 60_000;

const schema = `
  CREATE TABLE IF NOT EXISTS items (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    until INTEGER NOT NULL,
    size INTEGER NOT NULL,
    sealed TEXT NOT NULL,
    UNIQUE (user_id, id)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS items_sizes ON items (user_id, number, size);
`;

const fileBeside = (database: SqliteDatabase): string =>
  database.raw.name === '' || database.raw.name === ':memory:'
    ? ':memory:'
    : join(dirname(database.raw.name), 'answers.db');

function opened(file: string, nativeBinding: string | undefined): RawDatabase {
  keepPrivate(file);
  const made = new BetterSqlite(file, nativeBinding === undefined ? {} : { nativeBinding });
  made.pragma('journal_mode = WAL');
  // Losing the last of them costs a client an error, and no money.
  made.pragma('synchronous = NORMAL');
  made.exec(schema);
  return made;
}

/** @param now epoch milliseconds. */
export const createKeptItems = (database: Database, now: () => number, limits = usual): KeptItems =>
  database.engine === 'sqlite' ? createItemFile(database, now, limits) : createPostgresKeptItems(database, now, limits);

/** The file is made when there is something to keep. */
function createItemFile(database: SqliteDatabase, now: () => number, limits: KeptItemLimits): KeptItems {
  const path = fileBeside(database);
  let raw: RawDatabase | null = null;
  let sweptMs = 0;
  const file = (): RawDatabase => {
    raw ??= opened(path, database.nativeBinding);
    return raw;
  };
  /** The newest stay. */
  const trim = (most: number, where: string, ...of: number[]) =>
    file()
      .prepare(
        `DELETE FROM items WHERE number IN (SELECT number FROM
         (SELECT number, sum(size) OVER (ORDER BY number DESC) AS sofar FROM items ${where}) WHERE sofar > ?)`,
      )
      .run(...of, most);
  const sweep = () => {
    sweptMs = now();
    file().prepare('DELETE FROM items WHERE until <= ?').run(now());
    const large = file()
      .prepare<{ user_id: number }>('SELECT user_id FROM items GROUP BY user_id HAVING sum(size) > ?')
      .all(limits.perUser);
    for (const { user_id } of large) trim(limits.perUser, 'WHERE user_id = ?', user_id);
    const sum = file().prepare<number | null>('SELECT sum(size) FROM items').pluck().get() ?? 0;
    if (sum > limits.inAll) trim(limits.inAll, '');
  };
  return {
    async keepItems(userId, items, days) {
      const add = file().prepare(
        'INSERT OR REPLACE INTO items (id, user_id, until, size, sealed) VALUES (?, ?, ?, ?, ?)',
      );
      file().transaction(() => {
        for (const { id, sealed } of items) add.run(id, userId, now() + days * dayMs, sealed.length, sealed);
      })();
      if (now() - sweptMs >= sweepMs) sweep();
    },
    async keptItems(userId, ids) {
      return file()
        .prepare<Kept>(
          `SELECT id, sealed FROM items
           WHERE user_id = ? AND until > ? AND id IN (SELECT value FROM json_each(?))`,
        )
        .all(userId, now(), JSON.stringify(ids));
    },
    async sweepItems(days) {
      if (raw === null && !existsSync(path)) return;
      file()
        .prepare('DELETE FROM items WHERE until > ?')
        .run(now() + days * dayMs);
      sweep();
    },
    closeItems() {
      raw?.close();
      raw = null;
    },
  };
}
