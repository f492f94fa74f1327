/** What OpenAI's models take. */
import type { ModelRow } from '../row.ts';

const reasoning = 'https://platform.openai.com/docs/guides/reasoning#limitations';
/** The words were read off the API's own refusals. */
const efforts = 'https://github.com/anomalyco/opencode/pull/26268';
const newerLimit = 'https://github.com/anomalyco/opencode/issues/37964';
const chatModels = 'https://github.com/egoist/chatwise-releases/issues/1257';
const sampling = ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty'] as const;

export const openaiModels: readonly ModelRow[] = [
  {
    models: /^(?:gpt-[34]|chatgpt)/,
    thinking: 'none',
    source: 'https://platform.openai.com/docs/api-reference/chat/create#chat_create-reasoning_effort',
  },
  {
    models: /^o\d/,
    thinking: 'effort',
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['low', 'medium', 'high'],
    refuses: [...sampling, 'stop', 'parallelToolCalls', 'candidates'],
    limitMember: 'max_completion_tokens',
    source: reasoning,
  },
  {
    models: /^(?:o[134]|gpt-5)/,
    suffixed: true,
    source: 'https://docs.newapi.pro/en/docs/guide/feature-guide/admin/reasoning-effort',
  },
  { models: /^o1-(?:mini|preview)/, efforts: [], refuses: ['tools', 'schemaFormat', 'jsonFormat'], source: reasoning },
  { models: /^o[34]-mini/, takes: ['candidates'], source: reasoning, assumed: true },
  {
    models: /^gpt-[5-9]/,
    thinking: 'effort',
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['minimal', 'low', 'medium', 'high'],
    refuses: sampling,
    limitMember: 'max_completion_tokens',
    source: newerLimit,
  },
  // `stop` is refused by the thinking ones alone.
  {
    models: /^gpt-[5-9]/,
    refuses: ['stop'],
    source: 'https://learn.microsoft.com/en-us/azure/foundry/openai/how-to/reasoning#not-supported',
    assumed: true,
  },
  { models: /^gpt-5-pro/, efforts: ['high'], source: efforts },
  {
    models: /^gpt-5-codex/,
    efforts: ['low', 'medium', 'high'],
    source: 'https://github.com/CherryHQ/cherry-studio/issues/10430',
  },
  {
    models: /^gpt-(?:5\.[1-9]|[6-9])/,
    alwaysThinks: false,
    thinksUnasked: false,
    efforts: ['none', 'low', 'medium', 'high'],
    // They come back once it does not think.
    takes: ['temperature', 'topP'],
    refusesThinking: ['temperature', 'topP'],
    source: 'https://github.com/vercel/ai/issues/10932',
  },
  { models: /^gpt-(?:5\.[2-9]|[6-9])/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], source: efforts },
  { models: /^gpt-5\.[5-9]/, thinksUnasked: true, source: efforts, assumed: true },
  {
    models: /^gpt-5\.1-codex/,
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['low', 'medium', 'high'],
    source: 'https://github.com/openai/codex/issues/6647',
  },
  {
    models: /^gpt-5\.1-codex-max/,
    efforts: ['low', 'medium', 'high', 'xhigh'],
    source: 'https://github.com/RayBytes/ChatMock/pull/80',
  },
  {
    models: /^gpt-5\.[2-9]-codex/,
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['low', 'medium', 'high', 'xhigh'],
    source: 'https://github.com/RayBytes/ChatMock/pull/101',
  },
  {
    models: /^gpt-5\.[2-9]-pro/,
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['medium', 'high', 'xhigh'],
    source: efforts,
  },
  {
    models: /^gpt-5-chat/,
    thinking: 'none',
    alwaysThinks: false,
    thinksUnasked: false,
    takes: [...sampling, 'stop'],
    source: 'https://github.com/BerriAI/litellm/issues/13781',
  },
  {
    models: /^gpt-5\.[1-9]-chat/,
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['medium'],
    refuses: ['temperature', 'topP'],
    source: chatModels,
  },
  {
    models: /^gpt-oss/,
    thinking: 'effort',
    alwaysThinks: true,
    thinksUnasked: true,
    efforts: ['low', 'medium', 'high'],
    source: 'https://console.groq.com/docs/reasoning',
  },
];
