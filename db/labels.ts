/** Keys by their labels: a list with commas in one column. */
import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from './dialect.ts';

/** Keys that have the label now, deleted ones too. */
export const keysLabelled = (
  dialect: Pick<Dialect, 'position'>,
  column: 'id' | 'user_id',
  label: string,
): RawBuilder<number> =>
  sql<number>`SELECT ${sql.ref(column)} FROM tokens WHERE labels <> '' AND ${dialect.position(sql`',' || labels || ','`, sql`${`,${label},`}`)} > 0`;
