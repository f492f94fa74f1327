/** Reads another product's SQLite file, whatever its tables are. */
import BetterSqlite from 'better-sqlite3';

export type SourceRow = Readonly<Record<string, unknown>>;

/** @returns rows of a table, none when there is no such table. @throws the driver's error when it is no database. */
export function openSqliteSource(file: string, nativeBinding: string | undefined) {
  const raw = new BetterSqlite(file, {
    readonly: true,
    fileMustExist: true,
    ...(nativeBinding === undefined ? {} : { nativeBinding }),
  });
  const tables = new Set(raw.prepare<string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all());
  return {
    tables: (): readonly string[] => [...tables].filter((table) => !table.startsWith('sqlite_')),
    rows: (table: string): Iterable<SourceRow> =>
      tables.has(table) ? raw.prepare<SourceRow>(`SELECT * FROM "${table.replaceAll('"', '""')}"`).iterate() : [],
    close: () => void raw.close(),
  };
}
