/** Items of answers, in a file of their own beside the database: they come and go, and no book depends on them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import BetterSqlite, { type Database as RawDatabase } from 'better-sqlite3';
import type { Kept, KeptItemLimits, KeptItems, Owned } from './kept-item.ts';
import type { Database, SqliteDatabase } from './open.ts';
import { createPostgresKeptItems } from './postgres/kept-items.ts';
import { keepPrivate } from './private-file.ts';

const defaults: KeptItemLimits = { perUser: 64 * 1024 * 1024, inAll: 256 * 1024 * 1024, owners: 1_000_000 };
const dayMs = 86_400_000;
/** As long as upstreams keep responses. */
const ownerDays = 30;
/** Between two looks at what is too old or too much. */
const cleanupMs = 60_000;

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
  CREATE TABLE IF NOT EXISTS owners (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner_id INTEGER NOT NULL,
    channel_id INTEGER NOT NULL,
    until INTEGER NOT NULL
  ) STRICT;
`;

const itemsFileOf = (database: SqliteDatabase): string =>
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
export const createKeptItems = (database: Database, now: () => number, limits = defaults): KeptItems =>
  database.engine === 'sqlite' ? createItemFile(database, now, limits) : createPostgresKeptItems(database, now, limits);

/** The file is made when there is something to keep. */
function createItemFile(database: SqliteDatabase, now: () => number, limits: KeptItemLimits): KeptItems {
  const path = itemsFileOf(database);
  let raw: RawDatabase | null = null;
  let sweptMs = 0;
  const file = (): RawDatabase => {
    raw ??= opened(path, database.nativeBinding);
    return raw;
  };
  /** The newest stay. */
  const trim = (max: number, where: string, ...of: number[]) =>
    file()
      .prepare(
        `DELETE FROM items WHERE number IN (SELECT number FROM
         (SELECT number, sum(size) OVER (ORDER BY number DESC) AS sofar FROM items ${where}) WHERE sofar > ?)`,
      )
      .run(...of, max);
  const cleanup = () => {
    sweptMs = now();
    file().prepare('DELETE FROM items WHERE until <= ?').run(now());
    const large = file()
      .prepare<{ user_id: number }>('SELECT user_id FROM items GROUP BY user_id HAVING sum(size) > ?')
      .all(limits.perUser);
    for (const { user_id } of large) trim(limits.perUser, 'WHERE user_id = ?', user_id);
    const sum = file().prepare<number | null>('SELECT sum(size) FROM items').pluck().get() ?? 0;
    if (sum > limits.inAll) trim(limits.inAll, '');
    // Numbers rise with time, so that age and number sort alike.
    file().prepare('DELETE FROM owners WHERE number <= (SELECT max(number) FROM owners) - ?').run(limits.owners);
    file().prepare('DELETE FROM owners WHERE number <= (SELECT max(number) FROM owners WHERE until <= ?)').run(now());
  };
  return {
    async keepItems(userId, items, days) {
      const add = file().prepare(
        'INSERT OR REPLACE INTO items (id, user_id, until, size, sealed) VALUES (?, ?, ?, ?, ?)',
      );
      file().transaction(() => {
        for (const { id, sealed } of items) add.run(id, userId, now() + days * dayMs, sealed.length, sealed);
      })();
      if (now() - sweptMs >= cleanupMs) cleanup();
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
      cleanup();
    },
    async keepOwners(owned) {
      const add = file().prepare('INSERT OR REPLACE INTO owners (id, owner_id, channel_id, until) VALUES (?, ?, ?, ?)');
      const until = now() + ownerDays * dayMs;
      file().transaction(() => {
        for (const { id, ownerId, channelId } of owned) add.run(id, ownerId, channelId, until);
      })();
      if (now() - sweptMs >= cleanupMs) cleanup();
    },
    async ownersOf(ids) {
      if (raw === null && !existsSync(path)) return [];
      return file()
        .prepare<Owned>(
          `SELECT id, owner_id AS ownerId, channel_id AS channelId FROM owners
           WHERE until > ? AND id IN (SELECT value FROM json_each(?))`,
        )
        .all(now(), JSON.stringify(ids));
    },
    closeItems() {
      raw?.close();
      raw = null;
    },
  };
}
