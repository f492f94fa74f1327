/** One statement for many rows: its parameters, cursors and answer cost more than the row. */
import type { Database as RawDatabase, Statement } from 'better-sqlite3';

export type Row = readonly (string | number | null)[];

/** Rows of one statement. */
const maxRows = 64;

/** @param width values of a row. @param sqlOf the statement over `(?, ?), (?, ?), …`. */
export function manyRows(
  raw: RawDatabase,
  width: number,
  sqlOf: (values: string) => string,
): (rows: readonly Row[]) => void {
  const values = `(${Array.from({ length: width }, () => '?').join(', ')})`;
  const prepared = new Map<number, Statement>();
  const statementOf = (count: number): Statement => {
    const known = prepared.get(count);
    if (known !== undefined) return known;
    const made = raw.prepare(sqlOf(Array.from({ length: count }, () => values).join(', ')));
    prepared.set(count, made);
    return made;
  };
  return (rows) => {
    let from = 0;
    for (let count = maxRows; count >= 1; count /= 2)
      for (; rows.length - from >= count; from += count) statementOf(count).run(...rows.slice(from, from + count));
  };
}
