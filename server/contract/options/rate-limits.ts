/** How often models may be asked. */
import { integer, limitTable, toggle } from '../option-kinds.ts';
import { option } from './row.ts';

export const rateLimitsOptions = {
  ModelRequestRateLimitEnabled: option({
    kind: toggle,
    fallback: 'false',
    tab: 'ratelimit',
    panel: 'limits',
    label: { zh: '启用用户模型请求速率限制', en: 'Limit model requests per user' },
    help: {
      zh: '按用户限制周期内的请求次数，超出返回 429。',
      en: 'Limits requests per user and period. Requests over the limit get HTTP 429.',
    },
  }),
  ModelRequestRateLimitDurationMinutes: option({
    kind: integer(0),
    fallback: '1',
    tab: 'ratelimit',
    panel: 'limits',
    label: { zh: '限制周期（分钟）', en: 'Period (minutes)' },
    help: { zh: '计数的时间窗口。', en: 'The window that is counted.' },
  }),
  ModelRequestRateLimitCount: option({
    kind: integer(0),
    fallback: '0',
    tab: 'ratelimit',
    panel: 'limits',
    label: { zh: '用户每周期最多请求次数', en: 'Most requests per period (0 = unlimited)' },
    help: { zh: '包括失败的请求，0 为不限。', en: 'Failed ones count too; 0 sets no limit.' },
  }),
  ModelRequestRateLimitSuccessCount: option({
    kind: integer(1),
    fallback: '1000',
    tab: 'ratelimit',
    panel: 'limits',
    label: { zh: '用户每周期最多请求完成次数', en: 'Most successful requests per period' },
    help: { zh: '只计算成功的请求。', en: 'Only requests that succeeded count.' },
  }),
  GroupLimits: option({
    kind: limitTable,
    fallback: '{}',
    tab: 'ratelimit',
    panel: 'limits',
    label: {
      zh: '分组限制（rpm 每分钟请求数、tpm 每分钟 Tokens、concurrency 并发数）',
      en: 'Limits of groups (rpm, tpm, concurrency)',
    },
    help: {
      zh: '分组 → rpm、tpm 或 concurrency → 上限；没有写的不限。',
      en: 'Group → rpm, tpm or concurrency → limit; one that is not there is unlimited.',
    },
  }),
} as const;
