/** Prices for everybody, and what was used by the hour. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { number, text } from './fields.ts';
import { pricedChainShape } from './virtual-model.ts';

const range = { start_timestamp: number, end_timestamp: number, default_time: text };
const hours = z.array(
  z.object({
    /** Place in this answer, for clients that want a number. */
    id: z.int(),
    user_id: z.int(),
    /** Epoch seconds at which the hour begins. */
    created_at: z.int(),
    model_name: z.string(),
    username: z.string(),
    channel_id: z.int(),
    count: z.int(),
    token_used: z.int(),
    quota: z.int(),
  }),
);

const pricingItem = z.object({
  model_name: z.string(),
  /** 1 = per call, 0 = per token. */
  quota_type: z.int(),
  model_ratio: z.number(),
  model_price: z.number(),
  completion_ratio: z.number(),
  cache_ratio: z.number(),
  enable_groups: z.array(z.string()),
  /** Factors of the channels that serve it, by group: the cheapest and the dearest. Absent = prices are as they stand here. */
  channel_factors: z.optional(z.record(z.string(), z.object({ least: z.number(), most: z.number() }))),
  /** Always empty. */
  owner_by: z.string(),
  /** Interfaces the model is reached by. */
  supported_endpoint_types: z.array(z.string()),
  maker: z.nullable(z.object({ zh: z.string(), en: z.string() })),
  /** Tokens of prompt and answer; null = unknown. */
  context: z.nullable(z.int()),
  /** Tokens of the longest answer; null = unknown. */
  longest: z.nullable(z.int()),
  /** text, image, audio, video, file; [] = unknown. */
  takes: z.array(z.string()),
  /** Day on which its maker takes it away; absent = none is known. */
  retired: z.optional(z.string()),
});

export const usageEndpoints = [
  endpoint({
    id: 'pricing.get',
    method: 'GET',
    path: '/api/pricing',
    access: 'public',
    input: z.object({}),
    output: z.object({
      success: z.literal(true),
      message: z.string(),
      data: z.array(pricingItem),
      group_ratio: z.record(z.string(), z.number()),
      usable_group: z.record(z.string(), z.string()),
      /** Each is charged as the target that serves; absent = there are none. */
      virtual_models: z.optional(z.array(pricedChainShape)),
    }),
    envelope: 'raw',
    summary: { zh: '模型价格', en: 'Models and their prices' },
  }),
  endpoint({
    id: 'usage.all',
    method: 'GET',
    path: '/api/data/',
    access: 'admin',
    input: z.object({ ...range, username: text }),
    output: hours,
    summary: { zh: '按小时统计的用量', en: 'Usage by the hour' },
  }),
  endpoint({
    id: 'usage.self',
    method: 'GET',
    path: '/api/data/self',
    access: 'user',
    input: z.object(range),
    output: hours,
    summary: { zh: '自己按小时统计的用量', en: 'Own usage by the hour' },
  }),
] as const;
