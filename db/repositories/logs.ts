/** Reads of the log. Ordered by id, which grows with time; every filter has an index that ends in id. */
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
      ['username', filter.username],
      ['token_name', filter.tokenName],
      ['model_name', filter.model],
      ['channel_id', filter.channel],
      ['group_name', filter.group],
      ['request_id', filter.requestId],
    ];
    for (const [column, value] of equal) {
      if (value !== undefined && value !== '') narrowed = narrowed.where(sql.ref(`logs.${column}`), '=', value);
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
