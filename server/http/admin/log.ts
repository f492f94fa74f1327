/** The usage log, everybody's for operators, one's own for users. */
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { AppError } from '../../contract/errors.ts';
import type { LogFormat } from '../../contract/log-export.ts';
import { nameKinds } from '../../contract/names.ts';
import { noShares, PurchaseShares } from '../../contract/pricing/purchase.ts';
import type { Download } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';

interface LogQuery {
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly token_name?: string | undefined;
  readonly token_id?: number | undefined;
  readonly label?: string | undefined;
  readonly model_name?: string | undefined;
  readonly channel?: number | undefined;
  readonly channel_name?: string | undefined;
  readonly group?: string | undefined;
  readonly request_id?: string | undefined;
  readonly start_timestamp?: number | undefined;
  readonly end_timestamp?: number | undefined;
  readonly status?: LogFilter['statuses'];
  readonly error?: string | undefined;
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly project?: string | undefined;
  readonly end_user?: string | undefined;
  readonly subagent?: string | undefined;
  readonly prompt?: string | undefined;
}

const filterOf = (query: LogQuery): LogFilter => ({
  // Type 0 and channel 0 mean all.
  type: query.type || undefined,
  username: query.username,
  tokenName: query.token_name,
  tokenId: query.token_id || undefined,
  tokenLabel: query.label || undefined,
  model: query.model_name,
  channel: query.channel || undefined,
  channelName: query.channel_name,
  group: query.group === 'null' ? undefined : query.group,
  requestId: query.request_id,
  from: query.start_timestamp || undefined,
  to: query.end_timestamp || undefined,
  statuses: query.status,
  error: query.error,
  retries: true,
  names: namesIn(query),
});

const namesIn = (query: LogQuery): LogFilter['names'] =>
  nameKinds.some((kind) => (query[kind] ?? '') !== '')
    ? Object.fromEntries(nameKinds.flatMap((kind) => (query[kind] === undefined ? [] : [[kind, query[kind]]])))
    : undefined;

/** Own rows; that others were asked before is for operators alone. */
const ownFilterOf = (query: LogQuery, userId: number): LogFilter => ({ ...filterOf(query), userId, retries: false });

const types = { csv: 'text/csv; charset=utf-8', jsonl: 'application/x-ndjson' } as const;

const download = (format: LogFormat, chunks: AsyncIterable<string>): Download => ({
  name: `logs.${format}`,
  type: types[format],
  chunks,
});

/** Groups of a list. */
const groupLimit = (limit = 500): number => Math.max(1, Math.min(10_000, limit));

const facetValues = (limit = 10): number => Math.max(1, Math.min(100, limit));

export const logHandlers: HandlersOf<
  | 'log.list'
  | 'log.self'
  | 'log.search'
  | 'log.self_search'
  | 'log.stat'
  | 'log.self_stat'
  | 'log.facets'
  | 'log.self_facets'
  | 'log.token'
  | 'log.breakdown'
  | 'log.self_breakdown'
  | 'log.cache'
  | 'log.self_cache'
  | 'log.conversation'
  | 'log.self_conversation'
  | 'log.tail'
  | 'log.step'
  | 'log.export'
  | 'log.self_export'
  | 'log.verify'
  | 'log.prune'
  | 'log.get'
  | 'log.self_get'
> = {
  'log.list': ({ services, input }) =>
    services.logs.page(filterOf(input), firstPage(input.p), pageSize(input.page_size), true, input.sort),
  'log.self': ({ services, input, actor }) =>
    services.logs.page(
      ownFilterOf(input, actor.userId),
      firstPage(input.p),
      pageSize(input.page_size),
      false,
      input.sort,
    ),
  'log.search': ({ services, input }) => services.logs.search(input.keyword ?? '', {}, true),
  'log.self_search': ({ services, input, actor }) =>
    services.logs.search(input.keyword ?? '', { userId: actor.userId }, false),
  'log.stat': async ({ services, input }) => ({
    ...(await services.logs.stat(filterOf(input))),
    overrun: await services.logs.overrun(filterOf(input)),
  }),
  'log.self_stat': ({ services, input, actor }) => services.logs.stat(ownFilterOf(input, actor.userId)),
  'log.facets': ({ services, input }) => services.logs.facets(filterOf(input), facetValues(input.limit), true),
  'log.self_facets': ({ services, input, actor }) =>
    services.logs.facets(ownFilterOf(input, actor.userId), facetValues(input.limit), false),
  'log.token': async ({ services, input, meta }) => {
    const token = await services.tokens.byKey(input.key || meta.bearer);
    if (token === null) throw new AppError('token_invalid');
    const filter = { userId: token.user_id, tokenName: token.name, tokenId: token.id };
    return (await services.logs.page(filter, 1, 100, false)).items;
  },
  'log.tail': ({ services, input }) =>
    services.logs.tail(input.after ?? -1, input.type || undefined, Math.min(1000, input.limit ?? 100)),
  'log.breakdown': ({ services, input }) => {
    const shares = new PurchaseShares(services.options.get('ChannelCostRatio'));
    return services.logs.breakdown(filterOf(input), input.by, shares, groupLimit(input.limit));
  },
  'log.self_breakdown': async ({ services, input, actor }) => {
    const groups = await services.logs.breakdown(
      ownFilterOf(input, actor.userId),
      input.by,
      noShares,
      groupLimit(input.limit),
    );
    return groups.map((group) => ({ ...group, username: '' }));
  },
  'log.cache': ({ services, input }) => services.cacheRates(filterOf(input), input.by),
  'log.self_cache': ({ services, input, actor }) => services.cacheRates(ownFilterOf(input, actor.userId), input.by),
  'log.conversation': ({ services, input: { session, username = '' } }) =>
    services.conversations(session, username === '' ? {} : { name: username }),
  'log.self_conversation': ({ services, input, actor }) => services.conversations(input.session, { id: actor.userId }),
  'log.step': ({ services, input }) =>
    services.logs.step(filterOf(input), input.after ?? '', Math.min(1000, input.limit ?? 500)),
  'log.export': async ({ services, input }) =>
    download(
      input.format,
      services.logs.export(filterOf(input), input.format, true, services.options.get('QuotaPerUnit')),
    ),
  'log.self_export': async ({ services, input, actor }) => {
    const filter = ownFilterOf(input, actor.userId);
    return download(
      input.format,
      services.logs.export(filter, input.format, false, services.options.get('QuotaPerUnit')),
    );
  },
  'log.verify': ({ services, input }) => services.logs.verify(filterOf(input)),
  'log.prune': ({ services, input }) => {
    if (input.target_timestamp === undefined || input.target_timestamp <= 0) throw new AppError('log_time_required');
    return services.logs.prune(input.target_timestamp);
  },
  'log.get': ({ services, input }) => services.logs.get(input.ref),
  'log.self_get': ({ services, input, actor }) => services.logs.get(input.ref, actor.userId),
};
