/** Members that clients of one provider send and another one refuses: they come with a changed channel, or from a package that takes every address for its own. */
import type { Demand, ProviderRow } from './row.ts';

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

/** Parallel calls are known to this family alone not to be taken, whatever OpenAI's clients send. */
const cerebras: readonly ProviderRow[] = [
  {
    provider: 'cerebras',
    dialect: 'openai-chat',
    member: 'parallel_tool_calls',
    demand: absent,
    models: /^zai-glm/,
    source: 'https://inference-docs.cerebras.ai/api-reference/chat-completions',
  },
];

/** It does not know the role `developer`. */
const roles: readonly ProviderRow[] = [
  {
    provider: 'volcengine',
    dialect: 'openai-chat',
    member: 'messages[].role',
    demand: { kind: 'oneOf', words: ['system', 'user', 'assistant', 'tool'], instead: { developer: 'system' } },
    source: 'https://www.volcengine.com/docs/82379/1494384',
  },
];

export const unsupportedFieldRows: readonly ProviderRow[] = [...openai, ...cerebras, ...roles];
