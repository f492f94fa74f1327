/** SQL as SQLite says it. */
import { sql } from 'kysely';
import { type Dialect, placeIn } from '../dialect.ts';

export const sqliteDialect: Dialect = {
  like: (column, pattern, mark) =>
    mark === ''
      ? sql<boolean>`${sql.ref(column)} LIKE ${pattern}`
      : sql<boolean>`${sql.ref(column)} LIKE ${pattern} ESCAPE ${sql.lit(mark)}`,
  // The unary plus makes an expression of it.
  withoutIndex: (column) => sql`+${sql.ref(column)}`,
  position: (text, part) => sql<number>`instr(${text}, ${part})`,
  jsonNumber: (column, member) =>
    sql<number | null>`json_extract(nullif(${sql.ref(column)}, ''), ${sql.lit(`$.${member}`)})`,
  jsonText: (column, member) =>
    sql<string | null>`json_extract(nullif(${sql.ref(column)}, ''), ${sql.lit(`$.${member}`)})`,
  spread: ({ first, last, step }) => sql`(
    WITH RECURSIVE pick(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM pick WHERE n < ${Math.floor((last - first) / step)})
    SELECT logs.* FROM pick CROSS JOIN logs ON logs.id = ${first} + n * ${step} + ${placeIn('n', step)})`,
  channelUse: null,
  months: null,
  async exclusive(transaction, table) {
    // Writes nothing, but takes the write lock before anything is read; a read first could not be followed by a write while
    // another connection writes.
    await transaction.deleteFrom(table).where('id', '<', 0).execute();
  },
};
