/**
 * How much of their prompts requests found in their provider's cache, from the log itself: whether a row's prompt counts what a cache
 * had depends on its dialect, so that sums of prompts do not say it. Of a long log some rows are read, and each counts for those passed over.
 */
import { type RawBuilder, sql } from 'kysely';
import { LogType } from '../../server/contract/enum.ts';
import type { Database } from '../open.ts';
import { createLogFilters, type LogFilter, type LogQuery } from './log-filter.ts';

/** What rates are grouped by. */
export type CacheRateColumn = 'channel_id' | 'token_id' | 'agent_id' | 'model_name' | 'day';

export interface CacheRateRow {
  /** Number, name, or the second at which the day begins. */
  readonly key: number | string;
  /** Owner of an agent's name: these are each user's own. */
  readonly user_id: number;
  readonly requests: number;
  /** All tokens of prompts; those among them that a cache had. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  /** Requests whose cache should have had more, and the quota that this cost. */
  readonly missed: number;
  readonly lost: number;
  /** The figures are estimates. */
  readonly sampled: boolean;
}

/** Rows that are read for one answer, about. */
const checkedRows = 10_000;

export function createCacheRatesRepository(database: Database) {
  const { query, dialect, engine } = database;
  const { sized, endsOf, spread } = createLogFilters(database);
  const number = (member: string): RawBuilder<number> =>
    sql<number>`coalesce(${dialect.jsonNumber('logs.other', member)}, 0)`;
  // One engine reads a path, the other looks for the name.
  const lost = engine === 'sqlite' ? 'cache_miss.lost' : 'lost';
  const hasMissed = sql`${dialect.position(sql`logs.other`, '"cache_miss":')} > 0`;
  const times = (of: RawBuilder<unknown>, weight: number): RawBuilder<number> =>
    sql<number>`CAST(coalesce(sum(${of}), 0) * ${sql.lit(weight)} AS BIGINT)`;

  return {
    /** Charged requests that name their tokens, in no order. @param checked rows that are read, about. */
    async rates(filter: LogFilter, by: CacheRateColumn, checked = checkedRows): Promise<CacheRateRow[]> {
      const key = by === 'day' ? sql`logs.created_at - logs.created_at % 86400` : sql.ref(`logs.${by}`);
      const owner = by === 'agent_id' ? sql`logs.user_id` : sql`0`;
      // Writes of longer lives are among those of the shortest.
      const input = sql`${number('input')} + ${number('cache_tokens')} + ${number('cache_creation_tokens')}`;
      const charged = { ...filter, type: LogType.consume };
      const { rows: count, narrow, filtered } = await sized(charged, checked + 1);
      const ends = count > checked ? await endsOf(charged) : null;
      const { rows: some, weight } =
        ends === null ? { rows: query.selectFrom('logs') as LogQuery<unknown>, weight: 1 } : spread(ends, checked);
      const rows = (ends === null ? narrow(some) : filtered(some)).select([
        sql<number | string>`${key}`.as('key'),
        sql<number>`${owner}`.as('user_id'),
        times(sql`1`, weight).as('requests'),
        times(input, weight).as('input_tokens'),
        times(number('cache_tokens'), weight).as('cached_tokens'),
        times(sql`CASE WHEN ${hasMissed} THEN 1 ELSE 0 END`, weight).as('missed'),
        times(sql`CASE WHEN ${hasMissed} THEN ${number(lost)} ELSE 0 END`, weight).as('lost'),
      ]) as unknown as LogQuery<Omit<CacheRateRow, 'sampled'>>;
      // Imported rows say what a cache had, and not of how much.
      const found = await rows
        .where(sql<boolean>`${dialect.jsonNumber('logs.other', 'input')} IS NOT NULL`)
        .groupBy([sql`1`, sql`2`])
        .execute();
      return found.map((row) => ({ ...row, sampled: weight > 1 }));
    },
  };
}
