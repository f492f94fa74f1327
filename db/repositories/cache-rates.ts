/**
 * How much of their prompts requests found in their provider's cache, from the log itself: whether a row's prompt counts what a cache
 * had depends on its dialect, so that sums of prompts do not say it.
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
  /** Of agents, whose names are each user's own. */
  readonly user_id: number;
  readonly requests: number;
  /** All tokens of prompts; those among them that a cache had. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  /** Requests whose cache should have had more, and the quota that this cost. */
  readonly missed: number;
  readonly lost: number;
}

export function createCacheRatesRepository(database: Database) {
  const { query, dialect, engine } = database;
  const { plan } = createLogFilters(database);
  const number = (member: string): RawBuilder<number> =>
    sql<number>`coalesce(${dialect.jsonNumber('logs.other', member)}, 0)`;
  // One engine reads a path, the other looks for the name.
  const lost = engine === 'sqlite' ? 'cache_miss.lost' : 'lost';
  const whole = (of: RawBuilder<unknown>): RawBuilder<number> => sql<number>`CAST(coalesce(sum(${of}), 0) AS BIGINT)`;

  return {
    /** Charged requests that name their tokens, in no order. */
    async rates(filter: LogFilter, by: CacheRateColumn): Promise<CacheRateRow[]> {
      const key = by === 'day' ? sql`logs.created_at - logs.created_at % 86400` : sql.ref(`logs.${by}`);
      const owner = by === 'agent_id' ? sql`logs.user_id` : sql`0`;
      // Writes of longer lives are among those of the shortest.
      const input = sql`${number('input')} + ${number('cache_tokens')} + ${number('cache_creation_tokens')}`;
      const rows = (await plan({ ...filter, type: LogType.consume }))(
        query
          .selectFrom('logs')
          .select([
            sql<number | string>`${key}`.as('key'),
            sql<number>`${owner}`.as('user_id'),
            sql<number>`count(*)`.as('requests'),
            whole(input).as('input_tokens'),
            whole(sql`${number('cache_tokens')}`).as('cached_tokens'),
            whole(sql`CASE WHEN ${dialect.position(sql`logs.other`, '"cache_miss":')} > 0 THEN 1 ELSE 0 END`).as(
              'missed',
            ),
            whole(
              sql`CASE WHEN ${dialect.position(sql`logs.other`, '"cache_miss":')} > 0 THEN ${number(lost)} ELSE 0 END`,
            ).as('lost'),
          ]) as unknown as LogQuery<CacheRateRow>,
      );
      // Imported rows say what a cache had, and not of how much.
      return rows
        .where(sql<boolean>`${dialect.jsonNumber('logs.other', 'input')} IS NOT NULL`)
        .groupBy([sql`1`, sql`2`])
        .execute();
    },
  };
}
