/** What OpenAI's models take. */
import type { ModelRow } from '../row.ts';

const reasoning = 'https://platform.openai.com/docs/guides/reasoning#limitations';
/** The words were read off the API's own refusals. */
const efforts = 'https://github.com/anomalyco/opencode/pull/26268';
const newerLimit = 'https://github.com/anomalyco/opencode/issues/37964';
const chatModels = 'https://github.com/egoist/chatwise-releases/issues/1257';
/** As LiteLLM's map has it, model by model. */
const published = 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json';
const sampling = ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty'] as const;

export const openaiModels: readonly ModelRow[] = [
  {
    models: /^(?:gpt-[34]|chatgpt-4o|o\d)/,
    unsupported: ['schemaUnions'],
    source: 'https://github.com/BerriAI/litellm/pull/38792',
  },
  {
    models: /^grok-/,
    unsupported: ['schemaUnions'],
    source: 'https://github.com/router-for-me/CLIProxyAPI/issues/4397',
  },
  {
    models: /^(?:gpt-[34]|chatgpt)/,
    thinking: 'none',
    source: 'https://platform.openai.com/docs/api-reference/chat/create#chat_create-reasoning_effort',
  },
  {
    models: /^o\d/,
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['low', 'medium', 'high'],
    unsupported: [...sampling, 'stop', 'parallelToolCalls', 'candidates'],
    limitMember: 'max_completion_tokens',
    source: reasoning,
  },
  {
    models: /^(?:o[134]|gpt-5)/,
    effortSuffix: true,
    source: 'https://docs.newapi.pro/en/docs/guide/feature-guide/admin/reasoning-effort',
  },
  {
    models: /^o1-(?:mini|preview)/,
    efforts: [],
    unsupported: ['tools', 'schemaFormat', 'jsonFormat'],
    source: reasoning,
  },
  { models: /^o[34]-mini/, supported: ['candidates'], source: reasoning, assumed: true },
  {
    models: /^gpt-[5-9]/,
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['minimal', 'low', 'medium', 'high'],
    unsupported: sampling,
    limitMember: 'max_completion_tokens',
    source: newerLimit,
  },
  // `stop` is refused by the thinking ones alone.
  {
    models: /^gpt-[5-9]/,
    unsupported: ['stop'],
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
    thinkingRequired: false,
    thinkingByDefault: false,
    efforts: ['none', 'low', 'medium', 'high'],
    // They come back once it does not think.
    supported: ['temperature', 'topP'],
    unsupportedWithThinking: ['temperature', 'topP'],
    source: 'https://github.com/vercel/ai/issues/10932',
  },
  { models: /^gpt-(?:5\.[2-9]|[6-9])/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], source: efforts },
  { models: /^gpt-5\.[5-9]/, thinkingByDefault: true, source: efforts, assumed: true },
  // As OpenAI's own program lists them.
  {
    models: /^gpt-5\.6-(?:sol|terra|luna)/,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    source: 'https://www.npmjs.com/package/@openai/codex',
  },
  {
    models: /^gpt-[6-9]/,
    thinkingByDefault: true,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    source: 'https://github.com/UKGovernmentBEIS/inspect_ai/pull/5254',
  },
  // They always think: neither `none` nor a temperature is taken, "Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'".
  {
    models: /^gpt-(?:6(?:\.\d)?-(?:astra|rosalind)|6\.1-sol|6\.[2-9])/,
    thinkingRequired: true,
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    source: 'https://github.com/BerriAI/litellm/pull/39631',
  },
  {
    models: /^gpt-5\.1-codex/,
    thinkingRequired: true,
    thinkingByDefault: true,
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
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['low', 'medium', 'high', 'xhigh'],
    source: 'https://github.com/RayBytes/ChatMock/pull/101',
  },
  {
    models: /^gpt-5\.[2-9]-pro/,
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['medium', 'high', 'xhigh'],
    source: efforts,
  },
  { models: /^gpt-(?:5\.[45]-pro|(?:4o-(?:mini-)?)?audio)/, unsupported: ['schemaFormat'], source: published },
  {
    models: /^gpt-5-chat/,
    thinking: 'none',
    thinkingRequired: false,
    thinkingByDefault: false,
    supported: [...sampling, 'stop'],
    source: 'https://github.com/BerriAI/litellm/issues/13781',
  },
  {
    models: /^gpt-5\.[1-9]-chat/,
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['medium'],
    unsupported: ['temperature', 'topP'],
    source: chatModels,
  },
  {
    models: /^gpt-oss/,
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['low', 'medium', 'high'],
    source: 'https://console.groq.com/docs/reasoning',
  },
];
