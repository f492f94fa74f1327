/** Where the data is: a file of SQLite, or a database of PostgreSQL. Passed to threads as it is. */

export interface SqlitePlace {
  readonly engine: 'sqlite';
  readonly file: string;
}

export interface PostgresPlace {
  readonly engine: 'postgres';
  /** `postgres://user:password@host:port/database?sslmode=…`, read as libpq reads it. */
  readonly url: string;
  /** The same database without a pooler in between, for what needs a session of its own: migrations and news. */
  readonly direct?: string | undefined;
}

export type DatabasePlace = SqlitePlace | PostgresPlace;

const isUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//i.test(text);

/** @param text an address of PostgreSQL, or else a file. @param direct address that goes around a pooler, '' = none. */
export function placeOf(text: string, direct = ''): DatabasePlace {
  if (!isUrl(text)) return { engine: 'sqlite', file: text };
  return { engine: 'postgres', url: text, ...(direct === '' ? {} : { direct }) };
}

/** The database as people see it: never with its password. */
export function placeName(place: DatabasePlace): string {
  if (place.engine === 'sqlite') return place.file;
  const parts = URL.parse(place.url);
  return parts === null ? 'postgres://' : `${parts.host}${parts.pathname}`;
}
