/** Use by the hour. */
import type { Database } from '../open.ts';

export interface UsageHour {
  readonly hour_at: number;
  readonly user_id: number;
  readonly username: string;
  readonly model_name: string;
  readonly channel_id: number;
  readonly count: number;
  readonly tokens: number;
  readonly quota: number;
}

export interface UsageFilter {
  /** Epoch seconds, both ends included. */
  readonly from: number;
  readonly to: number;
  readonly userId?: number | undefined;
  readonly username?: string | undefined;
}

export function createUsageRepository({ query }: Database) {
  return {
    hours: (filter: UsageFilter, limit: number): Promise<UsageHour[]> =>
      query
        .selectFrom('usage_hours')
        .select(['hour_at', 'user_id', 'username', 'model_name', 'channel_id', 'count', 'tokens', 'quota'])
        .where('hour_at', '>=', filter.from)
        .where('hour_at', '<=', filter.to)
        .$if(filter.userId !== undefined, (q) => q.where('user_id', '=', filter.userId as number))
        .$if((filter.username ?? '') !== '', (q) => q.where('username', '=', filter.username ?? ''))
        .orderBy('hour_at')
        .orderBy('user_id')
        .orderBy('model_name')
        .orderBy('channel_id')
        .limit(limit)
        .execute(),
  };
}
