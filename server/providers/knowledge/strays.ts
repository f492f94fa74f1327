/** Members that clients of one provider send and another one refuses: they come with a changed channel, or from a package that takes every address for its own. */
import type { Demand, ModelRow, ProviderRow } from './row.ts';

const absent: Demand = { kind: 'absent' };
const gpt = /^(?:gpt-\d|chatgpt|o\d)/;

/** What is in no message of OpenAI's is refused in each. The same address is often given to other makers' models, which want their thoughts back. */
const openai = ['openai', 'azure'].map(
  (provider): ProviderRow => ({
    provider,
    dialect: 'openai-chat',
    models: gpt,
    member: 'messages[].reasoning',
    demand: absent,
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
    assumed: true,
  }),
);

const groq = ['truncation', 'include', 'safety_identifier', 'prompt_cache_key'].map(
  (member): ProviderRow => ({
    provider: 'groq',
    dialect: 'openai-responses',
    member,
    demand: absent,
    source: 'https://console.groq.com/docs/responses-api#unsupported-features',
  }),
);

const cerebras: readonly ProviderRow[] = ['store', 'parallel_tool_calls'].map((member) => ({
  provider: 'cerebras',
  dialect: 'openai-chat',
  member,
  demand: absent,
  source: 'https://inference-docs.cerebras.ai/api-reference/chat-completions',
  ...(member === 'store' ? {} : { models: /^zai-glm/ }),
}));

/** They have not heard of developers. */
const roles = (
  [
    ['mistral', 'https://docs.mistral.ai/api/endpoint/chat'],
    ['together', 'https://docs.together.ai/reference/chat-completions-1'],
    ['perplexity', 'https://docs.perplexity.ai/api-reference/chat-completions-post'],
    ['deepseek', 'https://api-docs.deepseek.com/api/create-chat-completion'],
    ['ali', 'https://help.aliyun.com/zh/model-studio/use-qwen-by-calling-api'],
  ] as const
).map(
  ([provider, source]): ProviderRow => ({
    provider,
    dialect: 'openai-chat',
    member: 'messages[].role',
    demand: { kind: 'oneOf', words: ['system', 'user', 'assistant', 'tool'], instead: { developer: 'system' } },
    source,
  }),
);

export const strayRows: readonly ProviderRow[] = [...openai, ...groq, ...cerebras, ...roles];

export const strayModels: readonly ModelRow[] = [
  {
    models: /^(?:qwen|llama)/,
    provider: 'groq',
    refuses: ['schemaFormat'],
    source: 'https://console.groq.com/docs/structured-outputs#supported-models',
  },
];
