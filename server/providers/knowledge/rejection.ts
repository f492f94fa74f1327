/** What the words of an upstream's error mean where its status does not say it, and the words that name an account. */
import type { UpstreamError } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

/** `context`: the prompt is longer than the model takes. `spent`: the account cannot pay, for longer than a client waits. `missing`: the model or call does not exist there. `content`: what the caller wrote is not allowed there. */
export type RejectionReason = 'context' | 'spent' | 'missing' | 'content';

export interface RefusalRow extends WithSource {
  readonly reason: RejectionReason;
  /** The groups `tokens` and `limit` hold the sizes of a prompt and of the model's context. */
  readonly words: RegExp;
  /** `code`: of type and code alone, because a message may repeat what the caller wrote, and harm a channel by it. `start`: of the message, from its first word, where the status already says that the account is refused. */
  readonly of: 'code' | 'anything' | 'start';
}

/** Measured by sending prompts that are too long to each of these providers. */
const measured = 'https://github.com/earendil-works/pi/issues/129';

const context = (words: RegExp, source: string = measured): RefusalRow => ({
  reason: 'context',
  of: 'anything',
  words,
  source,
});

/** The first that matches decides, so rows with sizes stand in front of others. */
const refusalRows: readonly RefusalRow[] = [
  // Anthropic, also on Bedrock and Vertex.
  context(/prompt is too long(?::\s*(?<tokens>\d+) tokens? > (?<limit>\d+))?/i),
  context(
    /input length and `?max_tokens`? exceed context limit/i,
    'https://github.com/anthropics/claude-code/issues/4327',
  ),
  // OpenAI, and what is compatible with it: DeepSeek, OpenRouter, vLLM, Together.
  context(
    /maximum context length is (?<limit>\d+) tokens.*?(?:resulted in|requested(?: about)?|contains?(?: at least)?) (?<tokens>\d+)/is,
  ),
  // Google.
  context(/input token count \(?(?<tokens>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<limit>\d+)\)?/i),
  context(/input token count.*exceeds the maximum/i),
  // Bedrock.
  context(/input is too long for requested model/i),
  // xAI.
  context(/maximum prompt length is (?<limit>\d+) but the request contains (?<tokens>\d+)/i),
  // Groq.
  context(/reduce the length of the messages/i),
  // Mistral.
  context(/prompt contains (?<tokens>\d+) tokens.*?too large for model with (?<limit>\d+) maximum context length/is),
  context(/too large for model with \d+ maximum context length/i),
  // GitHub Copilot.
  context(/prompt token count of (?<tokens>\d+) exceeds the limit of (?<limit>\d+)/i),
  // llama.cpp.
  context(/request \((?<tokens>\d+) tokens\) exceeds the available context size \((?<limit>\d+) tokens\)/i),
  context(/exceeds the available context size|exceed_context_size_error/i),
  // LM Studio.
  context(/greater than the context length/i),
  // Moonshot, MiniMax.
  context(/exceeded model token limit: (?<limit>\d+) \(requested: (?<tokens>\d+)\)/i),
  context(/exceeded model token limit|context window exceeds limit/i),
  // Poolside.
  context(
    /input length (?<tokens>\d+) exceeds the maximum allowed input length of (?<limit>\d+)/i,
    'https://github.com/earendil-works/pi/issues/4943',
  ),
  // Others that are compatible with OpenAI.
  context(
    /input length \(?(?<tokens>\d+)\)? exceeds (?:the )?(?:model'?s )?maximum context length \(?(?<limit>\d+)\)?/i,
    'https://github.com/earendil-works/pi/issues/5677',
  ),
  // Ollama.
  context(/input length exceeds (?:the |maximum )?context length/i, 'https://github.com/ollama/ollama/pull/17944'),
  // Alibaba.
  context(
    /range of input length should be \[\d+, (?<limit>\d+)\]/i,
    'https://help.aliyun.com/zh/model-studio/error-code',
  ),
  // Without sizes.
  context(/context_length_exceeded|maximum context length|exceeds the context window/i),

  // OpenRouter and xAI refuse what a caller wrote with 403, as others refuse a key.
  {
    reason: 'content',
    of: 'start',
    words: /^(?:[\w./:-]+|your chosen model) requires moderation\b[^"]{0,40}\byour input was flagged/i,
    source: 'https://openrouter.ai/docs/api/reference/errors-and-debugging',
  },
  {
    reason: 'content',
    of: 'start',
    words: /^content violates usage guidelines/i,
    source: 'https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267',
  },

  // OpenAI.
  {
    reason: 'spent',
    of: 'code',
    words: /insufficient_quota|billing_hard_limit_reached|billing_not_active/,
    source: 'https://platform.openai.com/docs/guides/error-codes',
  },
  // Plans of ChatGPT.
  { reason: 'spent', of: 'code', words: /usage_limit_reached/, source: 'https://github.com/openai/codex/issues/2448' },
  // Anthropic; this gateway to clients of Anthropic's dialect, with status 429.
  { reason: 'spent', of: 'code', words: /\bbilling_error\b/, source: 'https://docs.claude.com/en/api/errors' },
  // Anthropic answers 400 and OpenAI 429, with the same type as a mistake of the caller or an exceeded rate.
  {
    reason: 'spent',
    of: 'start',
    words: /^(?:your credit balance is too low|you exceeded your current quota)/i,
    source: 'https://github.com/anthropics/claude-code/issues/2065',
  },
  // new-api and one-api.
  {
    reason: 'spent',
    of: 'code',
    words: /insufficient_user_quota|pre_consume_token_quota_failed/,
    source: 'https://github.com/QuantumNous/new-api/blob/main/types/error.go',
  },

  // OpenAI; new-api and one-api answer 503 with it.
  {
    reason: 'missing',
    of: 'code',
    words: /model_not_found/,
    source: 'https://github.com/QuantumNous/new-api/blob/main/types/error.go',
  },
  // This gateway, to whom its operator owes; clients of Cohere's and Ollama's dialects get words alone.
  {
    reason: 'spent',
    of: 'code',
    words: /\b(?:user_exhausted|token_exhausted|token_budget_(?:day|month))\b/,
    source: 'server/contract/errors/limit.ts',
  },
  {
    reason: 'spent',
    of: 'start',
    words:
      /^(?:This API key has run out of quota|The account balance is insufficient|The (?:daily|monthly) limit of this API key is used up|该令牌额度不足|用户余额不足|该令牌(?:今日|本月)额度已用尽)/,
    source: 'server/contract/errors/limit.ts',
  },
  // This gateway in front of another upstream.
  {
    reason: 'missing',
    of: 'code',
    words: /\bupstream_(?:key|spent|missing)\b/,
    source: 'server/contract/errors/relay.ts',
  },
];

export interface Refusal {
  readonly reason: RejectionReason;
  /** Sizes in tokens; null = the upstream does not say. */
  readonly tokens: number | null;
  readonly limit: number | null;
}

const sizeIn = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

/** @param ofAccount the upstream refuses the account and not the request. @returns null when no row knows the words. */
export function refusalIn({ type, code, message }: UpstreamError, ofAccount: boolean): Refusal | null {
  const codes = `${type ?? ''} ${code ?? ''}`;
  const all = `${codes} ${message}`;
  for (const { reason, of, words } of refusalRows) {
    if (of === 'start' && !ofAccount) continue;
    const found = words.exec(of === 'code' ? codes : of === 'start' ? message : all);
    if (found !== null) return { reason, tokens: sizeIn(found.groups?.tokens), limit: sizeIn(found.groups?.limit) };
  }
  return null;
}
