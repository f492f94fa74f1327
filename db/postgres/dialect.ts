/** SQL as PostgreSQL says it. */
import { sql } from 'kysely';
import type { Dialect } from '../dialect.ts';
import { dropMonths, prepareMonths } from './months.ts';

export const postgresDialect: Dialect = {
  like: (column, pattern, mark) => sql<boolean>`${sql.ref(column)} ILIKE ${pattern} ESCAPE ${sql.lit(mark)}`,
  // It has counted which values are rare.
  unindexed: (column) => sql`${sql.ref(column)}`,
  position: (text, part) => sql<number>`strpos(${text}, ${part})`,
  // Not as json: a text with \u0000 in any member is refused there, and SQLite takes it.
  jsonNumber: (column, member) =>
    sql<
      number | null
    >`substring(${sql.ref(column)} from ${sql.lit(`"${member}"\\s*:\\s*"?(-?[0-9.]+(?:[eE][+-]?[0-9]+)?)`)})::double precision`,
  channelUse: sql<number>`channels.used_quota + coalesce((SELECT sum(parts.used_quota) FROM channel_parts AS parts WHERE parts.channel_id = channels.id), 0)`,
  months: { prepare: prepareMonths, drop: dropMonths },
  async alone(transaction, table) {
    await sql`LOCK TABLE ${sql.table(table)} IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
  },
};
