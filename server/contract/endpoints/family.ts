/** What newer scripts of the family ask for beside the calls of its console. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { number, text } from './fields.ts';

const none = z.object({});
const budget = z.object({ used: z.int(), limit: z.int() });
const ratios = z.record(z.string(), z.number());

export const familyEndpoints = [
  endpoint({
    id: 'token.usage',
    method: 'GET',
    path: '/api/usage/token/',
    access: 'public',
    input: none,
    output: z.object({
      code: z.literal(true),
      message: z.string(),
      data: z.object({
        object: z.literal('token_usage'),
        name: z.string(),
        total_granted: z.int(),
        total_used: z.int(),
        total_available: z.int(),
        unlimited_quota: z.boolean(),
        model_limits: z.record(z.string(), z.boolean()),
        model_limits_enabled: z.boolean(),
        /** Epoch seconds, 0 = never. */
        expires_at: z.int(),
        /** What was used in the current day and month (UTC); a limit of 0 is none. */
        day: budget,
        month: budget,
        /** What the user who owns the key has left. */
        balance: z.int(),
        quota_per_unit: z.number(),
        display_in_currency: z.boolean(),
      }),
    }),
    envelope: 'raw',
    summary: { zh: '令牌用量（密钥放在 Authorization 中）', en: 'Usage of the token whose key is in Authorization' },
  }),
  endpoint({
    id: 'ratio.config',
    method: 'GET',
    path: '/api/ratio_config',
    access: 'public',
    input: none,
    output: z.object({ model_ratio: ratios, completion_ratio: ratios, cache_ratio: ratios, model_price: ratios }),
    summary: { zh: '模型倍率', en: 'Ratios of the models in the price list' },
  }),
  endpoint({
    id: 'wallet.info',
    method: 'GET',
    path: '/api/user/topup/info',
    access: 'user',
    input: none,
    output: z.object({
      enable_online_topup: z.boolean(),
      enable_stripe_topup: z.boolean(),
      enable_creem_topup: z.boolean(),
      pay_methods: z.array(z.object({ name: z.string(), type: z.string(), color: z.string(), min_topup: z.string() })),
      min_topup: z.int(),
      stripe_min_topup: z.int(),
      amount_options: z.array(z.int()),
      discount: ratios,
      topup_link: z.string(),
    }),
    summary: { zh: '充值方式', en: 'Ways to top up' },
  }),
  endpoint({
    id: 'second_factor.status',
    method: 'GET',
    path: '/api/user/2fa/status',
    access: 'user',
    input: none,
    output: z.object({
      enabled: z.boolean(),
      locked: z.boolean(),
      backup_codes_remaining: z.optional(z.int()),
    }),
    summary: { zh: '两步验证状态（新版脚本）', en: 'State of two-factor authentication, as newer scripts read it' },
  }),
  endpoint({
    id: 'status.uptime',
    method: 'GET',
    path: '/api/uptime/status',
    access: 'public',
    input: none,
    output: z.array(z.object({ categoryName: z.string(), monitors: z.array(z.unknown()) })),
    summary: { zh: '外部监控分组（此处没有）', en: 'Groups of external monitors; there are none here' },
  }),
  endpoint({
    id: 'model.prefill_groups',
    method: 'GET',
    path: '/api/prefill_group/',
    access: 'admin',
    input: z.object({ type: text }),
    output: z.array(z.unknown()),
    summary: { zh: '预填组（此处没有）', en: 'Prefill groups; there are none here' },
  }),
  endpoint({
    id: 'model.vendors',
    method: 'GET',
    path: '/api/vendors/',
    access: 'admin',
    input: z.object({ p: number, page_size: number, keyword: text }),
    output: z.object({ items: z.array(z.unknown()), page: z.int(), page_size: z.int(), total: z.int() }),
    summary: { zh: '供应商列表（此处没有）', en: 'Vendors of models; there are none here' },
  }),
] as const;
