/**
 * The ephemeral store on either engine. One process has the file and keeps the values in its memory: the file has one writer, whom money needs, and
 * strangers who guess shall not queue up before it. Only keyed hashes are kept.
 */
import type { EphemeralStore, Memo, MemoPlace } from './ephemeral-store.ts';
import type { SqliteDatabase } from './open.ts';
import { createPostgresEphemeralStore } from './postgres/ephemeral-store.ts';
import type { PostgresDatabase } from './postgres/open.ts';

/** Places of one purpose. */
const mostKept = 100_000;

interface Kept extends Memo {
  readonly count: number;
}

function createLocalEphemeralStore(now: () => number): EphemeralStore {
  const purposes = new Map<string, Map<string, readonly Kept[]>>();
  const at = ({ purpose, key }: MemoPlace): readonly Kept[] =>
    (purposes.get(purpose)?.get(key) ?? []).filter(({ until }) => until > now());
  const write = ({ purpose, key }: MemoPlace, memos: readonly Kept[]): void => {
    const places = purposes.get(purpose) ?? new Map<string, readonly Kept[]>();
    purposes.set(purpose, places);
    places.delete(key);
    for (const oldest of places.keys()) {
      // Insertion order is age: a flood pushes out what has been quiet longest.
      if (places.size < mostKept) break;
      places.delete(oldest);
    }
    if (memos.length > 0) places.set(key, memos);
  };
  const countAt = (place: MemoPlace): Kept | undefined => at(place)[0];
  const only = (count: number, until: number): readonly Kept[] => [{ holder: '', value: '', count, until }];

  return {
    async put(place, memo, most) {
      const others = at(place).filter(({ holder }) => holder !== memo.holder);
      write(place, [...others.slice(Math.max(0, others.length + 1 - most)), { ...memo, count: 0 }]);
    },
    has: async (place, value) => at(place).some((memo) => value === undefined || memo.value === value),
    async take(place, value) {
      const memos = at(place);
      const others = memos.filter((memo) => memo.value !== value);
      if (others.length < memos.length) write(place, others);
      return others.length < memos.length;
    },
    async claim(place, until) {
      const free = at(place).length === 0;
      if (free) write(place, only(0, until));
      return free;
    },
    drop: async (place) => write(place, []),
    async count(place, windowMs, most) {
      const { count, until } = countAt(place) ?? { count: 0, until: now() + windowMs };
      if (count >= most) return null;
      write(place, only(count + 1, until));
      return count + 1;
    },
    async uncount(place) {
      const found = countAt(place);
      if (found !== undefined) write(place, only(Math.max(0, found.count - 1), found.until));
    },
    counted: async (place) => countAt(place)?.count ?? 0,
    async queue(place, { free, apartMs, longestMs, windowMs }) {
      const found = countAt(place);
      const beyond = (found?.count ?? 0) - free;
      const apart = apartMs[Math.min(beyond, apartMs.length - 1)] ?? 0;
      const due = found === undefined || beyond < 0 ? now() : Math.max(now(), found.until - windowMs + apart);
      const wait = due - now();
      if (wait > longestMs) return null;
      write(place, only((found?.count ?? 0) + 1, due + windowMs));
      return wait;
    },
    async sweep() {
      for (const [purpose, places] of purposes) {
        for (const [key, memos] of places) if (memos.every(({ until }) => until <= now())) places.delete(key);
        if (places.size === 0) purposes.delete(purpose);
      }
    },
  };
}

/** What lies there tells nothing to whoever reads it. */
function hashing(memos: EphemeralStore, hash: (text: string) => string): EphemeralStore {
  const hidden = ({ purpose, key }: MemoPlace): MemoPlace => ({ purpose, key: hash(`${purpose} ${key}`) });
  const valueAt = ({ purpose }: MemoPlace, value: string): string => hash(`${purpose} value ${value}`);
  return {
    put: (place, { holder, value, until }, most) =>
      memos.put(hidden(place), { holder: hash(holder), value: valueAt(place, value), until }, most),
    has: (place, value) => memos.has(hidden(place), value === undefined ? value : valueAt(place, value)),
    take: (place, value) => memos.take(hidden(place), valueAt(place, value)),
    claim: (place, until) => memos.claim(hidden(place), until),
    drop: (place) => memos.drop(hidden(place)),
    count: (place, windowMs, most) => memos.count(hidden(place), windowMs, most),
    uncount: (place) => memos.uncount(hidden(place)),
    counted: (place) => memos.counted(hidden(place)),
    queue: (place, queue) => memos.queue(hidden(place), queue),
    sweep: memos.sweep,
  };
}

export type MemoDatabase = Pick<SqliteDatabase, 'engine'> | Pick<PostgresDatabase, 'engine' | 'pool'>;

/** @param hash under a key of the site. @param now epoch milliseconds. */
export const createEphemeralStore = (
  database: MemoDatabase,
  hash: (text: string) => string,
  now: () => number,
): EphemeralStore =>
  hashing(
    database.engine === 'sqlite' ? createLocalEphemeralStore(now) : createPostgresEphemeralStore(database, now),
    hash,
  );
