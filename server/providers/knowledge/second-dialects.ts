/** Providers that speak a second dialect beside their own, at their own hosts: what a client of it asks goes there as it is. */
import type { WithSource } from './row.ts';

export interface SecondDialect extends WithSource {
  /** Slug of the catalogue. */
  readonly provider: string;
  readonly operation: string;
  readonly path: string;
  /** Another host of the same type may not have it. */
  readonly hosts: RegExp;
  /** Models it is offered for, as the upstream calls them; absent = all. */
  readonly models?: RegExp;
}

const row = (provider: string, path: string, hosts: RegExp, more: WithSource & Pick<SecondDialect, 'models'>) => ({
  provider,
  operation: 'messages',
  path,
  hosts,
  ...more,
});

export const secondDialects: readonly SecondDialect[] = [
  row('deepseek', '/anthropic/v1/messages', /^api\.deepseek\.com$/, {
    source: 'https://api-docs.deepseek.com/guides/anthropic_api',
  }),
  row('moonshot', '/anthropic/v1/messages', /^api\.moonshot\.(?:cn|ai)$/, {
    models: /^kimi-/,
    source: 'https://platform.moonshot.ai/docs/guide/agent-support',
  }),
  row('zhipu-v4', '/api/anthropic/v1/messages', /^open\.bigmodel\.cn$|^api\.z\.ai$/, {
    models: /^glm-(?:4\.[5-9]|[5-9])(?!v)/,
    source: 'https://docs.bigmodel.cn/cn/guide/develop/claude',
  }),
  row('minimax', '/anthropic/v1/messages', /^api\.minimaxi\.com$|^api\.minimax\.io$/, {
    models: /^MiniMax-M/i,
    source: 'https://platform.minimax.io/docs/api-reference/text-anthropic-api',
  }),
  row('minimax', '/anthropic/v1/messages', /^api\.minimax\.cn$/, {
    models: /^MiniMax-M/i,
    source: 'https://github.com/anomalyco/models.dev/issues/7500',
  }),
  row('ali', '/apps/anthropic/v1/messages', /^dashscope(?:-intl)?\.aliyuncs\.com$/, {
    models: /^qwen(?:-(?:max|plus|flash|turbo)|3(?:\.\d)?-(?:max|plus|flash|coder))/,
    source: 'https://help.aliyun.com/zh/model-studio/anthropic-api-messages',
  }),
  row('openrouter', '/v1/messages', /^openrouter\.ai$/, {
    source: 'https://openrouter.ai/docs/api/api-reference/anthropic-messages/create-messages',
  }),
];
