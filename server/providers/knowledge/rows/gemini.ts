/** What Google's models take. */
import type { ModelRow } from '../row.ts';

const thinking = 'https://ai.google.dev/gemini-api/docs/thinking';
const levels = 'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking';
const signatures = 'https://ai.google.dev/gemini-api/docs/thought-signatures';
const models = 'https://ai.google.dev/gemini-api/docs/models';
/** As LiteLLM's map has it, model by model. */
const published = 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json';

export const geminiModels: readonly ModelRow[] = [
  {
    models: /^gemini-/,
    inputs: ['image', 'audio', 'video', 'pdf'],
    source: models,
  },
  {
    models: /^gemini-/,
    unsupported: ['hostedWithTools'],
    source: 'https://github.com/symfony/ai/issues/803',
  },
  {
    models: /^gemini-(?:[01]|2)/,
    unsupported: ['formatWithTools'],
    source: 'https://github.com/googleapis/python-genai/issues/867',
  },
  {
    models: /^gemini-(?:2\.5|[3-9]|.*latest)/,
    unsupported: ['presencePenalty', 'frequencyPenalty'],
    source: 'https://github.com/google-gemini/cookbook/issues/1290',
  },
  // Names without a number stand for the newest.
  {
    models: /^gemini-(?:[3-9]|.*latest)/,
    thinking: 'level',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['low', 'medium', 'high'],
    signedCalls: true,
    source: signatures,
  },
  {
    models: /^gemini-(?:[3-9]|.*latest)/,
    callIds: true,
    source: 'https://ai.google.dev/gemini-api/docs/function-calling',
  },
  {
    models: /^gemini-(?:3\.[2-9]|[4-9]|.*latest)/,
    unsupported: ['prefill'],
    source: 'https://github.com/pipecat-ai/pipecat/pull/5821',
  },
  {
    models: /^gemini-(?:[3-9]|.*latest)/,
    unsupported: ['candidates'],
    source: 'https://github.com/googleapis/js-genai/issues/1609',
  },
  {
    models: /^gemini-3-pro/,
    efforts: ['low', 'high'],
    source: 'https://hexdocs.pm/gemini_ex/Gemini.Types.Enums.ThinkingLevel.html',
  },
  {
    models: /^gemini-3(?:\.[1-6])?-flash/,
    efforts: ['minimal', 'low', 'medium', 'high'],
    source: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-3-5-flash',
  },
  { models: /^gemini-4-hydrogen/, efforts: ['low', 'medium', 'high', 'xhigh'], source: published },
  {
    models: /^gemini-(?:omni-1\.1|robotics-er-(?:1|.*streaming))/,
    inputs: ['image', 'audio', 'video'],
    source: published,
  },
  { models: /^gemini-2\.5-computer-use/, inputs: ['image'], source: published },
  { models: /^gemini-.*-tts/, inputs: [], source: published },
  { models: /^gemini-omni-1\.2/, inputs: ['image', 'video'], source: published },
  { models: /^deep-research/, unsupported: ['tools', 'schemaFormat'], source: published },
  { models: /^gemini-3.*-image/, efforts: ['high'], source: levels, assumed: true },
  { models: /^gemini-(?:[01]|2\.0)/, thinking: 'none', source: thinking },
  { models: /^gemini-2\.5/, thinking: 'budget', thinkingByDefault: true, source: thinking },
  { models: /^gemini-2\.5-pro/, thinkingRequired: true, budget: [128, 32_768], source: thinking },
  { models: /^gemini-2\.5-flash/, budget: [1, 24_576], source: thinking },
  { models: /^gemini-2\.5-flash-lite/, thinkingByDefault: false, budget: [512, 24_576], source: thinking },
  { models: /^gemini-2\.5-flash-image/, thinking: 'none', source: models },
  { models: /^gemini-.*(?:image|-tts)/, outputs: ['text', 'image'], source: models, assumed: true },
  {
    models: /^gemma-(?!4)/,
    thinking: 'none',
    source: 'https://ai.google.dev/gemma/docs/core/gemma_on_gemini_api',
    assumed: true,
  },
];
