/**
 * Members of a request that may be left out where an upstream refuses them: each only shapes, hints at or speeds up an answer.
 * What is asked, how long an answer may be, how many there are, at which tier, and what is kept of it is in no row.
 */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

export type RemovableKind = 'beta' | 'hint' | 'sampling' | 'effort' | 'tool type';

export interface RemovableRow extends WithSource {
  readonly kind: RemovableKind;
  readonly dialect: ProtocolId;
  /** Path in the body, or `anthropic-beta` for names in that header. */
  readonly member: string;
  /** The refusal may be of one word alone: what is stored names it, `reasoning.effort=xhigh`. Absent = of the member. */
  readonly byValue?: 'also' | 'only';
  /** Words that may go where `byValue` is `only`; absent = all. */
  readonly values?: RegExp;
}

export const betaMember = 'anthropic-beta';
export const toolTypeMember = 'tools[].type';

const openAiChat = 'https://platform.openai.com/docs/api-reference/chat/create';
const openAiResponses = 'https://platform.openai.com/docs/api-reference/responses/create';
const anthropic = 'https://platform.claude.com/docs/en/api/messages/create';
const gemini = 'https://ai.google.dev/api/generate-content#generationconfig';
const cohere = 'https://docs.cohere.com/reference/chat';
const ollama = 'https://github.com/ollama/ollama/blob/main/docs/modelfile.md';
/** A table of which features the hosts of Anthropic's models refuse. */
const betas = 'https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json';

const rows = (
  kind: RemovableKind,
  dialect: ProtocolId,
  source: string,
  members: string,
  more: Pick<RemovableRow, 'byValue' | 'values'> = {},
): RemovableRow[] => members.split(' ').map((member) => ({ kind, dialect, member, source, ...more }));

/** Features without which the same is answered: prices, tools, structured answers and what is kept belong to none. */
const mereBetas =
  /^(?:context-1m|interleaved-thinking|fine-grained-tool-streaming|token-efficient-tools|output-128k|prompt-caching(?:-scope)?|extended-cache-ttl|context-management|effort|claude-code|thinking-display-updates|mid-conversation-output-config|dev-full-thinking)-\d[\d-]{5,9}$/;

export const removableRows: readonly RemovableRow[] = [
  // Refused on Bedrock and Vertex by the first member that an older model does not know.
  ...rows('beta', 'anthropic-messages', betas, betaMember, { byValue: 'only', values: mereBetas }),
  ...rows(
    'beta',
    'anthropic-messages',
    'https://github.com/anthropics/claude-code-action/issues/1005',
    'context_management',
  ),
  ...rows('beta', 'anthropic-messages', betas, 'tools[].eager_input_streaming'),

  ...rows(
    'hint',
    'anthropic-messages',
    betas,
    'system[].cache_control.scope tools[].cache_control.scope messages[].content[].cache_control.scope',
  ),
  ...rows(
    'hint',
    'anthropic-messages',
    anthropic,
    'cache_control system[].cache_control tools[].cache_control messages[].content[].cache_control tools[].strict',
  ),
  ...rows('hint', 'openai-chat', 'https://github.com/theopenco/llmgateway/pull/2979', 'prompt_cache_key'),
  ...rows('hint', 'openai-chat', openAiChat, 'metadata tools[].function.strict'),
  ...rows('hint', 'openai-chat', openAiChat, 'verbosity', { byValue: 'also' }),
  ...rows(
    'hint',
    'openai-chat',
    'https://openrouter.ai/docs/features/prompt-caching',
    'messages[].content[].cache_control tools[].cache_control',
  ),
  ...rows('hint', 'openai-responses', openAiResponses, 'prompt_cache_key metadata tools[].strict'),
  ...rows('hint', 'openai-responses', 'https://github.com/SEMOSS/Semoss/pull/2532', 'client_metadata'),
  ...rows('hint', 'openai-responses', openAiResponses, 'text.verbosity', { byValue: 'also' }),

  ...rows('sampling', 'openai-chat', openAiChat, 'temperature top_p seed presence_penalty frequency_penalty'),
  ...rows(
    'sampling',
    'openai-chat',
    'https://docs.vllm.ai/en/latest/api/vllm/sampling_params.html',
    'top_k min_p repetition_penalty',
  ),
  ...rows('sampling', 'openai-responses', openAiResponses, 'temperature top_p'),
  // "`temperature` and `top_p` cannot both be specified", and newer models take none.
  ...rows('sampling', 'anthropic-messages', anthropic, 'temperature top_p top_k'),
  ...rows(
    'sampling',
    'gemini-generate',
    gemini,
    'generationConfig.temperature generationConfig.topP generationConfig.topK generationConfig.seed generationConfig.presencePenalty generationConfig.frequencyPenalty',
  ),
  ...rows('sampling', 'cohere-chat', cohere, 'temperature p k seed frequency_penalty presence_penalty'),
  ...rows(
    'sampling',
    'ollama-chat',
    ollama,
    'options.temperature options.top_p options.top_k options.min_p options.seed options.repeat_penalty options.presence_penalty options.frequency_penalty',
  ),

  ...rows('effort', 'openai-chat', 'https://platform.openai.com/docs/guides/reasoning', 'reasoning_effort', {
    byValue: 'also',
  }),
  ...rows('effort', 'openai-responses', 'https://platform.openai.com/docs/guides/reasoning', 'reasoning.effort', {
    byValue: 'also',
  }),
  ...rows(
    'effort',
    'anthropic-messages',
    'https://platform.claude.com/docs/en/build-with-claude/effort',
    'output_config.effort',
    { byValue: 'also' },
  ),
  ...rows(
    'effort',
    'gemini-generate',
    'https://ai.google.dev/gemini-api/docs/thinking',
    'generationConfig.thinkingConfig.thinkingLevel',
    { byValue: 'also' },
  ),

  // OpenAI's own kinds of tools; at upstreams with functions alone they are told as these.
  ...rows('tool type', 'openai-responses', 'https://github.com/openai/codex/issues/10635', toolTypeMember, {
    byValue: 'only',
    values: /^(?:custom|namespace)$/,
  }),
];

/** What an unsupported member of a channel is about. */
export interface Removable {
  readonly row: RemovableRow;
  /** null = whatever its value. */
  readonly value: string | null;
}

/** What is left out of requests at one channel, by the model's name upstream. */
export type Without = ReadonlyMap<string, readonly Removable[]>;

const byName = new Map(removableRows.map((row) => [`${row.dialect}:${row.member}`, row]));
const word = /^[\w.-]{1,64}$/;

/** @param name `openai-chat:temperature`, `openai-responses:reasoning.effort=xhigh`. @returns null = nothing that may be left out. */
export function removableNamed(name: string): Removable | null {
  const at = name.indexOf('=');
  const row = byName.get(at < 0 ? name : name.slice(0, at));
  if (row === undefined) return null;
  const value = at < 0 ? null : name.slice(at + 1);
  return allows(row, value) ? { row, value } : null;
}

/** Whether an unsupported member may be about this value of the member. @param value null = about all. */
export function allows({ byValue, values }: RemovableRow, value: string | null): boolean {
  if (value === null) return byValue !== 'only';
  return byValue !== undefined && word.test(value) && values?.test(value) !== false;
}

export const nameOf = ({ row, value }: Removable): string =>
  `${row.dialect}:${row.member}${value === null ? '' : `=${value}`}`;
