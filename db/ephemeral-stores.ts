/**
 * The ephemeral store on either engine. One process has the file and keeps the values in its memory: the file has one writer, whom money needs, and
 * clients that guess must not queue up before it. Only keyed hashes are kept, and what callers sealed.
 */
import type { Entry, EntryKey, EphemeralStore } from './ephemeral-store.ts';
import type { SqliteDatabase } from './open.ts';
import { createPostgresEphemeralStore } from './postgres/ephemeral-store.ts';
import type { PostgresDatabase } from './postgres/open.ts';

/** Places of one purpose. */
const maxKept = 100_000;

interface Kept extends Entry {
  readonly count: number;
}

function createLocalEphemeralStore(now: () => number): EphemeralStore {
  const purposes = new Map<string, Map<string, readonly Kept[]>>();
  const at = ({ purpose, key }: EntryKey): readonly Kept[] =>
    (purposes.get(purpose)?.get(key) ?? []).filter(({ until }) => until > now());
  const write = ({ purpose, key }: EntryKey, store: readonly Kept[]): void => {
    const places = purposes.get(purpose) ?? new Map<string, readonly Kept[]>();
    purposes.set(purpose, places);
    places.delete(key);
    for (const oldest of places.keys()) {
      // Insertion order is age: a flood pushes out what has been quiet longest.
      if (places.size < maxKept) break;
      places.delete(oldest);
    }
    if (store.length > 0) places.set(key, store);
  };
  const countAt = (place: EntryKey): Kept | undefined => at(place)[0];
  const only = (count: number, until: number): readonly Kept[] => [{ holder: '', value: '', count, until }];

  return {
    async put(place, entry, max) {
      const others = at(place).filter(({ holder }) => holder !== entry.holder);
      write(place, [...others.slice(Math.max(0, others.length + 1 - max)), { ...entry, count: 0 }]);
    },
    has: async (place, value) => at(place).some((entry) => value === undefined || entry.value === value),
    async take(place, value) {
      const store = at(place);
      const others = store.filter((entry) => entry.value !== value);
      if (others.length < store.length) write(place, others);
      return others.length < store.length;
    },
    async claim(place, until) {
      const free = at(place).length === 0;
      if (free) write(place, only(0, until));
      return free;
    },
    write: async (place, text, until) => write(place, [{ holder: '', value: text, count: 0, until }]),
    read: async (place) => at(place)[0]?.value ?? null,
    drop: async (place) => write(place, []),
    async count(place, windowMs, max) {
      const { count, until } = countAt(place) ?? { count: 0, until: now() + windowMs };
      if (count >= max) return null;
      write(place, only(count + 1, until));
      return count + 1;
    },
    async uncount(place) {
      const found = countAt(place);
      if (found !== undefined) write(place, only(Math.max(0, found.count - 1), found.until));
    },
    counted: async (place) => countAt(place)?.count ?? 0,
    async queue(place, { free, delaysMs, maxMs, windowMs }) {
      const found = countAt(place);
      const beyond = (found?.count ?? 0) - free;
      const apart = delaysMs[Math.min(beyond, delaysMs.length - 1)] ?? 0;
      const due = found === undefined || beyond < 0 ? now() : Math.max(now(), found.until - windowMs + apart);
      const wait = due - now();
      if (wait > maxMs) return null;
      write(place, only((found?.count ?? 0) + 1, due + windowMs));
      return wait;
    },
    async cleanup() {
      for (const [purpose, places] of purposes) {
        for (const [key, store] of places) if (store.every(({ until }) => until <= now())) places.delete(key);
        if (places.size === 0) purposes.delete(purpose);
      }
    },
  };
}

/** Hashes what identifies an entry, so that a copy of the database reveals nothing. */
function hashing(store: EphemeralStore, hash: (text: string) => string): EphemeralStore {
  const hidden = ({ purpose, key }: EntryKey): EntryKey => ({ purpose, key: hash(`${purpose} ${key}`) });
  const valueAt = ({ purpose }: EntryKey, value: string): string => hash(`${purpose} value ${value}`);
  return {
    put: (place, { holder, value, until }, max) =>
      store.put(hidden(place), { holder: hash(holder), value: valueAt(place, value), until }, max),
    has: (place, value) => store.has(hidden(place), value === undefined ? value : valueAt(place, value)),
    take: (place, value) => store.take(hidden(place), valueAt(place, value)),
    claim: (place, until) => store.claim(hidden(place), until),
    write: (place, text, until) => store.write(hidden(place), text, until),
    read: (place) => store.read(hidden(place)),
    drop: (place) => store.drop(hidden(place)),
    count: (place, windowMs, max) => store.count(hidden(place), windowMs, max),
    uncount: (place) => store.uncount(hidden(place)),
    counted: (place) => store.counted(hidden(place)),
    queue: (place, queue) => store.queue(hidden(place), queue),
    cleanup: store.cleanup,
  };
}

export type EphemeralDatabase = Pick<SqliteDatabase, 'engine'> | Pick<PostgresDatabase, 'engine' | 'pool'>;

/** @param hash under a key of the site. @param now epoch milliseconds. */
export const createEphemeralStore = (
  database: EphemeralDatabase,
  hash: (text: string) => string,
  now: () => number,
): EphemeralStore =>
  hashing(
    database.engine === 'sqlite' ? createLocalEphemeralStore(now) : createPostgresEphemeralStore(database, now),
    hash,
  );
