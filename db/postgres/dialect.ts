/** SQL as PostgreSQL says it. */
import { type RawBuilder, sql } from 'kysely';
import { type Dialect, placeIn } from '../dialect.ts';
import { dropMonths, prepareMonths } from './months.ts';

const number = '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?';

/**
 * SQL for a number that is a member of an object in a text. Not as json: a text with \u0000 in any member is refused there, and
 * SQLite takes it. A pattern on the whole text takes five times as long.
 */
export function numberIn(text: string, member: string): string {
  const name = `"${member}"`;
  const behind = `substr(${text}, nullif(strpos(${text}, '${name}'), 0) + ${name.length}, 40)`;
  return `substring(ltrim(${behind}, E' \\t\\r\\n:"') from '${number}')::double precision`;
}

export const postgresDialect: Dialect = {
  like: (column, pattern, mark) => sql<boolean>`${sql.ref(column)} ILIKE ${pattern} ESCAPE ${sql.lit(mark)}`,
  // The server has statistics of which values are rare.
  withoutIndex: (column) => sql`${sql.ref(column)}`,
  position: (text, part) => sql<number>`strpos(${text}, ${part})`,
  jsonNumber: (column, member) =>
    sql.raw(numberIn(`"${column.replaceAll('.', '"."')}"`, member)) as RawBuilder<number | null>,
  jsonText: (column, member) =>
    sql<string | null>`substring(${sql.ref(column)} from ${sql.lit(`"${member}":"((?:[^"\\\\]|\\\\.)*)"`)})`,
  // One search of an index for each: joined in any other way it would read all of the log.
  spread: ({ first, last, step }, from, to) => sql`(SELECT one.* FROM
    generate_series(0::bigint, ${sql.lit(Math.floor((last - first) / step))}::bigint) AS pick(n) CROSS JOIN LATERAL (
      SELECT * FROM logs WHERE logs.id = ${sql.lit(first)} + n * ${sql.lit(step)} + ${placeIn('n', step)}
        AND logs.created_at BETWEEN ${sql.lit(from)} AND ${sql.lit(to)} LIMIT 1) AS one)`,
  channelUse: sql<number>`channels.used_quota + coalesce((SELECT sum(parts.used_quota) FROM channel_parts AS parts WHERE parts.channel_id = channels.id), 0)`,
  months: { prepare: prepareMonths, drop: dropMonths },
  async exclusive(transaction, table) {
    await sql`LOCK TABLE ${sql.table(table)} IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
  },
};
