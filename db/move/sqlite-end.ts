/** A file as the source or the target of a move. */
import { AppError } from '../../server/contract/errors.ts';
import type { SqliteDatabase } from '../open.ts';
import { cleanValues } from '../postgres/text.ts';
import { type Cursor, type MovedRow, type MoveTarget, movedTables } from './tables.ts';

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** @param busy whether a process serves it. */
export function sqliteEnd(database: SqliteDatabase, busy: () => boolean = () => false): MoveTarget {
  const { raw } = database;
  const number = (sql: string): number => Number(raw.prepare<number>(sql).pluck().get() ?? 0);
  const empty = () => {
    for (const { name } of movedTables) raw.exec(`DELETE FROM ${name}`);
  };
  const moving = () =>
    raw.prepare("SELECT 1 FROM sqlite_master WHERE name = 'move_cursor'").pluck().get() !== undefined;

  return {
    name: database.place.file,
    columns: async (table) => raw.prepare<string>('SELECT name FROM pragma_table_info(?)').pluck().all(table),
    count: async (table) => number(`SELECT count(*) FROM ${table}`),
    async read(table, columns, after, limit) {
      const keys = quoted(table.key);
      const behind = after === null ? '' : `WHERE (${keys}) > (${after.map(() => '?').join(', ')})`;
      const rows = raw
        .prepare<(string | number | null)[]>(
          `SELECT ${quoted(columns)} FROM ${table.name} ${behind} ORDER BY ${keys} LIMIT ?`,
        )
        .raw()
        .all(...(after ?? []), limit);
      return rows.map((row) => {
        const values = cleanValues(row);
        return Object.fromEntries(columns.map((column, index) => [column, values[index]])) as MovedRow;
      });
    },
    async numbers() {
      const lastIds = new Map(raw.prepare<[string, number]>('SELECT name, seq FROM sqlite_sequence').raw().all());
      for (const { name, idColumn } of movedTables)
        if (idColumn !== null)
          lastIds.set(name, Math.max(lastIds.get(name) ?? 0, number(`SELECT max("${idColumn}") FROM ${name}`)));
      return lastIds;
    },
    mark: async () =>
      raw
        .prepare<number[]>(
          `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'changes'), (SELECT max(id) FROM postings),
            (SELECT max(id) FROM logs), (SELECT max(id) FROM audit), (SELECT sum(version) FROM accounts)`,
        )
        .raw()
        .all()
        .join(),
    async rejectBusy() {
      if (busy()) throw new AppError('move_busy', { name: database.place.file });
    },
    async prepare(mark) {
      return raw
        .transaction(() => {
          if (!moving()) {
            if (number('SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM channels)') > 0)
              throw new AppError('move_not_empty', { name: database.place.file });
            raw.exec(
              'CREATE TABLE move_cursor (name TEXT PRIMARY KEY, after TEXT NOT NULL, rows INTEGER NOT NULL) STRICT',
            );
          }
          const known = raw.prepare<string>("SELECT after FROM move_cursor WHERE name = ''").pluck().get();
          if (known !== mark) {
            empty();
            raw.exec('DELETE FROM move_cursor');
            raw.prepare("INSERT INTO move_cursor (name, after, rows) VALUES ('', ?, 0)").run(mark);
          }
          const rows = raw.prepare<Cursor & { name: string }>('SELECT name, after, rows FROM move_cursor').all();
          return new Map(rows.map(({ name, ...cursor }) => [name, cursor]));
        })
        .immediate();
    },
    async write(table, columns, rows, cursor) {
      const insert = raw.prepare(
        `INSERT INTO ${table.name} (${quoted(columns)}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      raw
        .transaction(() => {
          for (const row of rows) insert.run(...columns.map((column) => row[column]));
          raw
            .prepare('INSERT OR REPLACE INTO move_cursor (name, after, rows) VALUES (?, ?, ?)')
            .run(table.name, cursor.after, cursor.rows);
        })
        .immediate();
    },
    async finish(numbers) {
      raw
        .transaction(() => {
          for (const [name, seq] of numbers) {
            const { changes } = raw.prepare('UPDATE sqlite_sequence SET seq = ? WHERE name = ?').run(seq, name);
            const numbered = raw.prepare("SELECT 1 FROM sqlite_master WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'");
            if (changes === 0 && numbered.get(name) !== undefined)
              raw.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(name, seq);
          }
          // Runs are numbered on: what a run of nodes left open belongs to one that has ended.
          const epoch = numbers.get('nodes') ?? 0;
          raw
            .prepare("UPDATE meta SET value = ? WHERE key = 'ledger_epoch' AND CAST(value AS INTEGER) < ?")
            .run(String(epoch), epoch);
          raw.exec('DELETE FROM changes');
          raw.exec('DROP TABLE move_cursor');
        })
        .immediate();
    },
  };
}
