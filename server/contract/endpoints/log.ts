/** The usage log. */
import * as z from 'zod/mini';
import { cacheRateKinds, cacheRatesShape, ownCacheRateKinds } from '../cache-rates.ts';
import { endpoint } from '../endpoint.ts';
import { logShape, page } from '../entities.ts';
import { logFormats } from '../log-export.ts';
import { logFacets, logStatuses } from '../log-status.ts';
import { logGroupings, ownGroupings } from '../names.ts';
import { logSorts } from '../sort.ts';
import { number, sortBy, text } from './fields.ts';

const pagination = { p: number, page_size: number, sort: sortBy(logSorts) };
const filters = {
  type: number,
  token_name: text,
  token_id: number,
  /** Only keys that have this label now. */
  label: text,
  model_name: text,
  start_timestamp: number,
  end_timestamp: number,
  group: text,
  request_id: text,
  /** Several by commas: succeeded, retried (operators alone), failed, refused, client_left, stopped, event. */
  status: z.optional(
    z.pipe(
      z.transform((value) => {
        const words = typeof value === 'string' ? value.split(',').filter((word) => word !== '') : value;
        return Array.isArray(words) && words.length === 0 ? undefined : (words ?? undefined);
      }),
      z.optional(z.array(z.enum(logStatuses))),
    ),
  ),
  /** As `facets` names it. */
  error: text,
  /** As rows name them: who asked, the conversation, the project, the person behind the key, an agent's helper, one question. */
  agent: text,
  session: text,
  project: text,
  end_user: text,
  subagent: text,
  prompt: text,
};
const adminFilters = { ...filters, username: text, channel: number, channel_name: text };
const countsShape = z.object({
  /** Epoch seconds; the buckets begin here. */
  from: z.int(),
  to: z.int(),
  /** Seconds of each bucket. */
  step: z.int(),
  total: z.int(),
  errors: z.int(),
  /** There are so many rows that the numbers are estimates from some of them. */
  sampled: z.boolean(),
  buckets: z.array(z.object({ at: z.int(), ok: z.int(), errors: z.int() })),
  facets: z.array(
    z.object({
      by: z.enum(logFacets),
      /** The most frequent first. */
      values: z.array(z.object({ value: z.string(), name: z.string(), count: z.int() })),
      /** What is not among them. */
      more: z.object({ values: z.int(), count: z.int() }),
    }),
  ),
});
export type LogCountsView = z.infer<typeof countsShape>;
/** What requests with one value cost together. */
const groupShape = z.object({
  name: z.string(),
  /** Whose it is, where values of several users are not the same; else empty. */
  username: z.string(),
  requests: z.int(),
  tokens: z.int(),
  quota: z.int(),
  /** Known by channel, model and user alone, where `ChannelCostRatio` names every channel. */
  cost: z.nullable(z.int()),
});
/** Values of each facet, or groups, at most. */
const limit = number;
const format = z._default(z.enum(logFormats), 'csv');
/** Counted as `contract/counted.ts` says: `requests` are those that were admitted, `refused` those that were not. */
const statShape = z.object({
  quota: z.int(),
  requests: z.int(),
  errors: z.int(),
  refused: z.int(),
  rpm: z.int(),
  tpm: z.int(),
});
/** With what went beyond the users' balances. */
const adminStatShape = z.object({ ...statShape.shape, overrun: z.int() });

const costShape = z.object({
  requests: z.int(),
  /** Without what was given back. */
  quota: z.int(),
  /** All tokens of prompts; those among them that a cache had. */
  input_tokens: z.int(),
  cached_tokens: z.int(),
  output_tokens: z.int(),
});
/** One conversation, as its client names it. */
const conversationShape = z.object({
  session: z.string(),
  username: z.string(),
  /** Empty = it named none. */
  agent: z.string(),
  project: z.string(),
  /** Epoch seconds of its first and last charged request. */
  from: z.int(),
  to: z.int(),
  models: z.array(z.string()),
  ...costShape.shape,
  /** Helpers of its agent, and what they cost of the whole. */
  subagents: z.int(),
  subagent_quota: z.int(),
  prompt_count: z.int(),
  /** The user's questions in their order, the last 500; an empty name = requests that named none. */
  prompts: z.array(
    z.object({ name: z.string(), at: z.int(), ...costShape.shape, subagents: z.int(), subagent_quota: z.int() }),
  ),
  /** The dearest 500. */
  helpers: z.array(z.object({ name: z.string(), ...costShape.shape })),
});
export type Conversation = z.infer<typeof conversationShape>;

export const logEndpoints = [
  endpoint({
    id: 'log.list',
    method: 'GET',
    path: '/api/log/',
    access: 'admin',
    input: z.object({ ...pagination, ...adminFilters }),
    output: page(logShape),
    summary: { zh: '日志', en: 'Logs' },
  }),
  endpoint({
    id: 'log.self',
    method: 'GET',
    path: '/api/log/self',
    access: 'user',
    input: z.object({ ...pagination, ...filters }),
    output: page(logShape),
    summary: { zh: '自己的日志', en: 'Own logs' },
  }),
  endpoint({
    id: 'log.self_get',
    method: 'GET',
    path: '/api/log/self/one/:ref',
    access: 'user',
    input: z.object({ ref: z.string() }),
    output: logShape,
    summary: { zh: '自己的一条日志', en: 'One own log entry by ID or request ID' },
  }),
  endpoint({
    id: 'log.search',
    method: 'GET',
    path: '/api/log/search',
    access: 'admin',
    input: z.object({ keyword: text }),
    output: z.array(logShape),
    summary: { zh: '搜索日志', en: 'Newest rows of a type, user, token, model or request ID' },
  }),
  endpoint({
    id: 'log.self_search',
    method: 'GET',
    path: '/api/log/self/search',
    access: 'user',
    input: z.object({ keyword: text }),
    output: z.array(logShape),
    summary: { zh: '搜索自己的日志', en: 'Newest own rows of a type, token, model or request ID' },
  }),
  endpoint({
    id: 'log.stat',
    method: 'GET',
    path: '/api/log/stat',
    access: 'admin',
    input: z.object(adminFilters),
    output: adminStatShape,
    summary: { zh: '日志统计', en: 'Log statistics' },
  }),
  endpoint({
    id: 'log.self_stat',
    method: 'GET',
    path: '/api/log/self/stat',
    access: 'user',
    input: z.object(filters),
    output: statShape,
    summary: { zh: '自己的统计', en: 'Own statistics' },
  }),
  endpoint({
    id: 'log.facets',
    method: 'GET',
    path: '/api/log/facets',
    access: 'admin',
    input: z.object({ ...adminFilters, limit }),
    output: countsShape,
    summary: {
      zh: '日志按时间和取值的数量',
      en: 'Number of log entries over time and by status, error, model, key, group, user, channel',
    },
  }),
  endpoint({
    id: 'log.self_facets',
    method: 'GET',
    path: '/api/log/self/facets',
    access: 'user',
    input: z.object({ ...filters, limit }),
    output: countsShape,
    summary: {
      zh: '自己的日志按时间和取值的数量',
      en: 'Number of own log entries over time and by status, error, model, key, group',
    },
  }),
  endpoint({
    id: 'log.token',
    method: 'GET',
    path: '/api/log/token',
    access: 'public',
    input: z.object({ key: text }),
    output: z.array(logShape),
    summary: {
      zh: '一个令牌最近的日志',
      en: 'Newest log entries of the token whose key is given, or stands in Authorization',
    },
  }),
  endpoint({
    id: 'log.breakdown',
    method: 'GET',
    path: '/api/log/stat/by',
    access: 'admin',
    input: z.object({ ...adminFilters, by: z._default(z.enum(logGroupings), 'channel'), limit }),
    output: z.array(groupShape),
    summary: {
      zh: '按渠道、模型、用户、令牌、令牌标签、分组、渠道标签、时间、会话、代理等统计',
      en: 'Statistics by channel, model, user, key, label of keys, group, tag of channels, time, session, agent and other names',
    },
  }),
  endpoint({
    id: 'log.self_breakdown',
    method: 'GET',
    path: '/api/log/self/stat/by',
    access: 'user',
    input: z.object({ ...filters, by: z._default(z.enum(ownGroupings), 'model'), limit }),
    output: z.array(groupShape),
    summary: {
      zh: '自己的用量按模型、令牌、分组、时间、会话、代理等统计',
      en: 'Own statistics by model, key, group, time, session, agent and other names',
    },
  }),
  endpoint({
    id: 'log.cache',
    method: 'GET',
    path: '/api/log/cache',
    access: 'admin',
    input: z.object({ ...adminFilters, by: z._default(z.enum(cacheRateKinds), 'channel') }),
    output: cacheRatesShape,
    summary: {
      zh: '缓存命中率，按渠道、令牌、代理、模型或日期',
      en: "Hit rates of providers' caches by channel, key, agent, model or day",
    },
  }),
  endpoint({
    id: 'log.self_cache',
    method: 'GET',
    path: '/api/log/self/cache',
    access: 'user',
    input: z.object({ ...filters, by: z._default(z.enum(ownCacheRateKinds), 'key') }),
    output: cacheRatesShape,
    summary: {
      zh: '自己的缓存命中率，按令牌、代理、模型或日期',
      en: "Own hit rates of providers' caches by key, agent, model or day",
    },
  }),
  endpoint({
    id: 'log.conversation',
    method: 'GET',
    path: '/api/log/conversation',
    access: 'admin',
    input: z.object({ session: z.string(), username: text }),
    output: conversationShape,
    summary: {
      zh: '一个会话的提问、费用、缓存与子代理',
      en: 'One conversation: its prompts, cost, cache and subagents; of several users, of the one who began it last',
    },
  }),
  endpoint({
    id: 'log.self_conversation',
    method: 'GET',
    path: '/api/log/self/conversation',
    access: 'user',
    input: z.object({ session: z.string() }),
    output: conversationShape,
    summary: {
      zh: '自己的一个会话的提问、费用、缓存与子代理',
      en: 'One own conversation: its prompts, cost, cache and subagents',
    },
  }),
  endpoint({
    id: 'log.tail',
    method: 'GET',
    path: '/api/log/tail',
    access: 'admin',
    input: z.object({ after: number, limit: number, type: number }),
    output: z.array(logShape),
    summary: { zh: '新日志', en: 'Logs after an id' },
  }),
  endpoint({
    id: 'log.step',
    method: 'GET',
    path: '/api/log/step',
    access: 'admin',
    input: z.object({ ...adminFilters, after: text, limit: number }),
    output: z.object({ items: z.array(logShape), next: z.string() }),
    summary: { zh: '逐段读取日志', en: 'Logs oldest first, from a place on' },
  }),
  endpoint({
    id: 'log.export',
    method: 'GET',
    path: '/api/log/export',
    access: 'admin',
    input: z.object({ ...adminFilters, format }),
    output: z.unknown(),
    summary: { zh: '导出日志', en: 'Export logs as CSV or JSON lines' },
    envelope: 'file',
  }),
  endpoint({
    id: 'log.self_export',
    method: 'GET',
    path: '/api/log/self/export',
    access: 'user',
    input: z.object({ ...filters, format }),
    output: z.unknown(),
    summary: { zh: '导出自己的日志', en: 'Export own logs as CSV or JSON lines' },
    envelope: 'file',
  }),
  endpoint({
    id: 'log.verify',
    method: 'GET',
    path: '/api/log/verify',
    access: 'admin',
    input: z.object(adminFilters),
    output: z.object({
      checked: z.int(),
      unequal: z.int(),
      wrong: z.array(z.object({ id: z.int(), quota: z.int(), expected: z.nullable(z.int()) })),
    }),
    summary: { zh: '重算并核对日志费用', en: 'Recompute every charge from its row' },
  }),
  endpoint({
    id: 'log.prune',
    method: 'DELETE',
    path: '/api/log/',
    access: 'root',
    input: z.object({ target_timestamp: number }),
    output: z.int(),
    summary: { zh: '清理历史日志', en: 'Delete logs before a time' },
  }),
  endpoint({
    id: 'log.get',
    method: 'GET',
    path: '/api/log/one/:ref',
    access: 'admin',
    input: z.object({ ref: z.string() }),
    output: logShape,
    summary: { zh: '一条日志', en: 'One log entry by ID or request ID' },
  }),
] as const;
