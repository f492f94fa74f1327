/** The usage log, everybody's for operators, one's own for users. */
import type { LogFilter } from '../../../db/repositories/logs.ts';
import type { HandlersOf } from './handlers.ts';
import { firstPage, pageSize } from './paging.ts';

interface LogQuery {
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly token_name?: string | undefined;
  readonly model_name?: string | undefined;
  readonly channel?: number | undefined;
  readonly group?: string | undefined;
  readonly request_id?: string | undefined;
  readonly start_timestamp?: number | undefined;
  readonly end_timestamp?: number | undefined;
}

const filterOf = (query: LogQuery): LogFilter => ({
  // Type 0 and channel 0 mean all.
  type: query.type || undefined,
  username: query.username,
  tokenName: query.token_name,
  model: query.model_name,
  channel: query.channel || undefined,
  group: query.group,
  requestId: query.request_id,
  from: query.start_timestamp || undefined,
  to: query.end_timestamp || undefined,
});

export const logHandlers: HandlersOf<'log.list' | 'log.self' | 'log.stat' | 'log.self_stat' | 'log.tail' | 'log.get'> =
  {
    'log.list': ({ services, input }) =>
      services.logs.page(filterOf(input), firstPage(input.p), pageSize(input.page_size), true),
    'log.self': ({ services, input, actor }) =>
      services.logs.page(
        { ...filterOf(input), userId: actor.userId },
        firstPage(input.p),
        pageSize(input.page_size),
        false,
      ),
    'log.stat': ({ services, input }) => services.logs.stat(filterOf(input)),
    'log.self_stat': ({ services, input, actor }) => services.logs.stat({ ...filterOf(input), userId: actor.userId }),
    'log.tail': ({ services, input }) =>
      services.logs.tail(input.after ?? -1, input.type || undefined, Math.min(1000, input.limit ?? 100)),
    'log.get': ({ services, input }) => services.logs.get(input.ref),
  };
