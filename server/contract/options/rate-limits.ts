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
    dependsOn: 'ModelRequestRateLimitEnabled',
  }),
  ModelRequestRateLimitCount: option({
    kind: integer(0),
    fallback: '0',
    tab: 'ratelimit',
    panel: 'limits',
    label: { zh: '用户每周期最多请求次数', en: 'Maximum requests per period' },
    help: { zh: '包括失败的请求，0 为不限。', en: 'Failed ones count too; 0 sets no limit.' },
    dependsOn: 'ModelRequestRateLimitEnabled',
  }),
  ModelRequestRateLimitSuccessCount: option({
    kind: integer(1),
    fallback: '1000',
    tab: 'ratelimit',
    panel: 'limits',
    label: { zh: '用户每周期最多请求完成次数', en: 'Maximum successful requests per period' },
    help: { zh: '只计算成功的请求。', en: 'Only requests that succeeded count.' },
    dependsOn: 'ModelRequestRateLimitEnabled',
  }),
  GroupLimits: option({
    kind: limitTable,
    fallback: '{}',
    tab: 'ratelimit',
    panel: 'limits',
    label: {
      zh: '分组限制',
      en: 'Limits of groups',
    },
    help: {
      zh: '每个分组每分钟的请求数（rpm）、Tokens（tpm）与并发数（concurrency）；留空不限。',
      en: 'Requests (rpm) and tokens (tpm) per minute and requests at once (concurrency) of each group; empty = unlimited.',
    },
  }),
} as const;
