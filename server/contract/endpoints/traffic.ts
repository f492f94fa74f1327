/** Figures of traffic over a range, and how channels are doing. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { attemptErrors, channelStates, periodLevels, requestErrors } from '../traffic.ts';
import { number, text, toggle } from './fields.ts';

const spread = z.object({ mean: z.nullable(z.int()), p50: z.nullable(z.int()), p95: z.nullable(z.int()) });
const stats = {
  requests: z.int(),
  errors: z.int(),
  error_by: z.record(z.enum(requestErrors), z.int()),
  /** Turned away before admission; not among `requests`. */
  refused: z.int(),
  retried: z.int(),
  saved: z.int(),
  attempts: z.int(),
  failed: z.int(),
  failed_by: z.record(z.enum(attemptErrors), z.int()),
  tokens_in: z.int(),
  tokens_out: z.int(),
  tokens_cached: z.int(),
  charge: z.int(),
  /** Milliseconds. */
  latency: spread,
  first_token: spread,
  tokens_per_second: z.nullable(z.number()),
};
export const barShape = z.object({
  at: z.int(),
  attempts: z.int(),
  failed: z.int(),
  /** Milliseconds. */
  latency: z.nullable(z.int()),
  level: z.enum(periodLevels),
});
/** Of the last minute: requests, by channel attempts. */
const recent = {
  count: z.int(),
  failed: z.int(),
  p95: z.nullable(z.int()),
  first_token: z.nullable(z.int()),
  tokens_per_second: z.nullable(z.number()),
  charge: z.int(),
};
const range = {
  /** 24h without it. */
  range: z.optional(z.enum(['15m', '1h', '6h', '24h', '7d', '30d', '90d'])),
  start_timestamp: number,
  end_timestamp: number,
  /** Follows from the range without it. */
  step: z.optional(z.enum(['5m', '1h', '1d'])),
  model: text,
  token: number,
  /** The sums alone without points. */
  points: toggle,
  /** Series at most, those with the most of `order` first; 100 without it. */
  limit: number,
  /** requests without it. */
  order: z.optional(z.enum(['requests', 'charge', 'tokens'])),
};
const answer = z.object({
  from: z.int(),
  to: z.int(),
  step: z.int(),
  total: z.object(stats),
  series: z.array(
    z.object({
      id: z.int(),
      name: z.string(),
      username: z.string(),
      total: z.object(stats),
      points: z.array(z.object({ at: z.int(), ...stats })),
    }),
  ),
});

export const trafficEndpoints = [
  endpoint({
    id: 'traffic.all',
    method: 'GET',
    path: '/api/traffic/',
    access: 'admin',
    input: z.object({
      ...range,
      by: z.optional(z.enum(['none', 'channel', 'model', 'token', 'label', 'user'])),
      channel: number,
    }),
    output: answer,
    summary: { zh: '流量统计', en: 'Traffic by channel, model, user, key or label of keys' },
  }),
  endpoint({
    id: 'traffic.self',
    method: 'GET',
    path: '/api/traffic/self',
    access: 'user',
    input: z.object({ ...range, by: z.optional(z.enum(['none', 'model', 'token'])) }),
    output: answer,
    summary: { zh: '自己的流量统计', en: 'Traffic of own keys' },
  }),
  endpoint({
    id: 'traffic.now',
    method: 'GET',
    path: '/api/traffic/now',
    access: 'admin',
    input: z.object({}),
    output: z.object({
      /** Seconds that the figures are about: 60, or fewer where there is very much. */
      seconds: z.int(),
      refused: z.int(),
      total: z.object(recent),
      channels: z.array(z.object({ id: z.int(), ...recent })),
      models: z.array(z.object({ name: z.string(), ...recent })),
      keys: z.array(z.object({ id: z.int(), name: z.string(), user: z.string(), ...recent })),
    }),
    summary: { zh: '最近一分钟的流量', en: 'Traffic of the last minute' },
  }),
  endpoint({
    id: 'traffic.channels',
    method: 'GET',
    path: '/api/traffic/channels',
    access: 'admin',
    /** Without a range there is no `period`. */
    input: z.object({ range: z.optional(z.enum(['24h', '7d'])) }),
    output: z.array(
      z.object({
        id: z.int(),
        name: z.string(),
        state: z.enum(channelStates),
        auto_disabled: z.boolean(),
        /** Epoch seconds; 0 = unknown. */
        since: z.int(),
        failed: z.int(),
        saved: z.int(),
        saved_by: z.array(z.object({ id: z.int(), name: z.string(), requests: z.int() })),
        words: z.string(),
        p95: z.nullable(z.int()),
        usual_p95: z.nullable(z.int()),
        requests_per_minute: z.number(),
        charged_today: z.int(),
        balance: z.nullable(z.number()),
        balance_lasts_days: z.nullable(z.number()),
        period: z.nullable(
          z.object({
            attempts: z.int(),
            failed: z.int(),
            /** Milliseconds. */
            first_token: z.nullable(z.int()),
            p95: z.nullable(z.int()),
            bars: z.array(barShape),
          }),
        ),
      }),
    ),
    summary: { zh: '渠道状态（依据流量）', en: 'How channels are doing, from their traffic' },
  }),
] as const;
