/** SQL as PostgreSQL says it. */
import { sql } from 'kysely';
import type { Dialect } from '../dialect.ts';

export const postgresDialect: Dialect = {
  like: (column, pattern, escape) => sql<boolean>`${sql.ref(column)} ILIKE ${pattern} ESCAPE ${sql.lit(escape)}`,
  // It has counted which values are rare.
  unindexed: (column) => sql`${sql.ref(column)}`,
  position: (text, part) => sql<number>`strpos(${text}, ${part})`,
  // As json, not jsonb: that one refuses a text with \u0000 in any member.
  jsonNumber: (column, member) =>
    sql<number | null>`(nullif(${sql.ref(column)}, '')::json ->> ${sql.lit(member)})::double precision`,
  channelUse: sql<number>`channels.used_quota + coalesce((SELECT sum(parts.used_quota) FROM channel_parts AS parts WHERE parts.channel_id = channels.id), 0)`,
  async alone(transaction, table) {
    await sql`LOCK TABLE ${sql.table(table)} IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
  },
};
