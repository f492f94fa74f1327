/** The log. Pages are ordered by time; every filter has an index that ends in the time. */
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { Database } from '../open.ts';
import type { LogsTable, Schema } from '../schema.ts';

export type LogRow = Selectable<LogsTable> & { channel_name: string | null };

export interface LogFilter {
  readonly userId?: number | undefined;
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly tokenName?: string | undefined;
  readonly model?: string | undefined;
  readonly channel?: number | undefined;
  readonly group?: string | undefined;
  readonly requestId?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Place in a walk through the log, oldest first. */
export interface LogCursor {
  readonly createdAt: number;
  readonly id: number;
}

/** What a group of requests cost together. */
export interface LogSum {
  readonly name: string;
  readonly channel_id: number;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
  /** Quota without the group's ratio. */
  readonly list: number;
}

const sumColumns = { channel: 'channel_id', model: 'model_name', user: 'username' } as const;
export type LogSumBy = keyof typeof sumColumns;

/** Totals beyond this are not counted: the number would cost more than it tells. */
const countedAtMost = 10_000;

export function createLogsRepository({ query }: Database) {
  const narrow = <O>(
    q: SelectQueryBuilder<Schema, 'logs', O>,
    filter: LogFilter,
  ): SelectQueryBuilder<Schema, 'logs', O> => {
    let narrowed = q;
    const equal: readonly (readonly [keyof LogsTable, string | number | undefined])[] = [
      ['user_id', filter.userId],
      ['type', filter.type],
      ['token_name', filter.tokenName],
      ['model_name', filter.model],
      ['channel_id', filter.channel],
      ['group_name', filter.group],
      ['request_id', filter.requestId],
    ];
    for (const [column, value] of equal) {
      if (value !== undefined && value !== '') narrowed = narrowed.where(sql.ref(`logs.${column}`), '=', value);
    }
    // By the user's number: names change, and the index is there already.
    if (filter.username !== undefined && filter.username !== '') {
      const { username } = filter;
      narrowed = narrowed.where('logs.user_id', '=', (eb) =>
        eb.selectFrom('users').select('users.id').where('users.username', '=', username),
      );
    }
    if (filter.from !== undefined) narrowed = narrowed.where('logs.created_at', '>=', filter.from);
    if (filter.to !== undefined) narrowed = narrowed.where('logs.created_at', '<=', filter.to);
    return narrowed;
  };
  const rows = () =>
    query
      .selectFrom('logs')
      .selectAll('logs')
      .select((eb) =>
        eb.selectFrom('channels').select('name').whereRef('channels.id', '=', 'logs.channel_id').as('channel_name'),
      );

  return {
    list: (filter: LogFilter, offset: number, limit: number): Promise<LogRow[]> =>
      narrow(rows() as unknown as SelectQueryBuilder<Schema, 'logs', LogRow>, filter)
        .orderBy('logs.created_at', 'desc')
        .orderBy('logs.id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute(),
    count: async (filter: LogFilter): Promise<number> => {
      const limited = narrow(query.selectFrom('logs').select('logs.id'), filter).limit(countedAtMost);
      const { n } = await query
        .selectFrom(limited.as('some'))
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      return n;
    },
    after: (id: number, type: number | undefined, limit: number): Promise<LogRow[]> =>
      narrow(rows() as unknown as SelectQueryBuilder<Schema, 'logs', LogRow>, { type })
        .where('logs.id', '>', id)
        .orderBy('logs.id')
        .limit(limit)
        .execute(),
    find: (ref: string): Promise<LogRow | undefined> =>
      (rows() as unknown as SelectQueryBuilder<Schema, 'logs', LogRow>)
        .where((eb) => (/^\d{1,12}$/.test(ref) ? eb('logs.id', '=', Number(ref)) : eb('logs.request_id', '=', ref)))
        .executeTakeFirst(),
    /** Rows after a place in the walk, oldest first. */
    walk: (filter: LogFilter, after: LogCursor, limit: number): Promise<LogRow[]> =>
      narrow(rows() as unknown as SelectQueryBuilder<Schema, 'logs', LogRow>, filter)
        .where(sql<boolean>`(logs.created_at, logs.id) > (${after.createdAt}, ${after.id})`)
        .orderBy('logs.created_at')
        .orderBy('logs.id')
        .limit(limit)
        .execute(),
    /** Deletes some of the rows before a time, the oldest first. @returns how many. */
    deleteSome: async (before: number, limit: number): Promise<number> =>
      Number(
        (
          await query
            .deleteFrom('logs')
            .where('id', 'in', (eb) =>
              eb.selectFrom('logs').select('id').where('created_at', '<', before).orderBy('created_at').limit(limit),
            )
            .executeTakeFirst()
        ).numDeletedRows,
      ),
    sums: (filter: LogFilter, by: LogSumBy): Promise<LogSum[]> =>
      narrow(
        query
          .selectFrom('logs')
          .select([
            sql<string>`CAST(${sql.ref(`logs.${sumColumns[by]}`)} AS TEXT)`.as('name'),
            'logs.channel_id',
            sql<number>`count(*)`.as('requests'),
            sql<number>`sum(prompt_tokens + completion_tokens)`.as('tokens'),
            sql<number>`sum(quota)`.as('quota'),
            sql<number>`coalesce(sum(quota / nullif(json_extract(other, '$.group_ratio'), 0)), 0)`.as('list'),
          ]) as unknown as SelectQueryBuilder<Schema, 'logs', LogSum>,
        { ...filter, type: 2 },
      )
        .groupBy([sql`1`, 'logs.channel_id'])
        .execute(),
    stat: async (filter: LogFilter): Promise<{ quota: number; requests: number; tokens: number }> => {
      const { quota, requests, tokens } = await narrow(
        query
          .selectFrom('logs')
          .select((eb) => [
            eb.fn.coalesce(eb.fn.sum<number>('quota'), eb.lit(0)).as('quota'),
            eb.fn.countAll<number>().as('requests'),
            sql<number>`coalesce(sum(prompt_tokens + completion_tokens), 0)`.as('tokens'),
          ]),
        { ...filter, type: 2 },
      ).executeTakeFirstOrThrow();
      return { quota, requests, tokens };
    },
  };
}
