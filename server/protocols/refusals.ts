/**
 * How a refusal of ours is told to the clients of each dialect, so that they stop at once, say why, and say when it is over.
 * Tried with the programs of 28 November 2026: Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, opencode 1.18.33,
 * qwen-code 0.24.4. What a row leaves out is as the error itself has it.
 */
import type { ErrorCode } from '../contract/errors.ts';
import { spentHeaders } from './anthropic-messages/gateway.ts';
import type { ProtocolId } from './canonical.ts';
import type { ClientError, RefusalReason } from './codec.ts';

const reasons: Partial<Record<ErrorCode, RefusalReason>> = {
  user_exhausted: 'balance',
  token_exhausted: 'limit',
  token_budget_day: 'day',
  token_budget_month: 'month',
  budget_token: 'day',
  budget_token_total: 'limit',
  budget_user: 'day',
  budget_user_total: 'limit',
  budget_group: 'day',
  budget_group_total: 'limit',
  budget_label: 'day',
  budget_label_total: 'limit',
  budget_end_user: 'day',
  budget_end_user_total: 'limit',
  budget_site: 'day',
  budget_site_total: 'limit',
  rate_limited: 'rate',
  limit_requests: 'rate',
  limit_successes: 'rate',
  limit_rpm: 'rate',
  limit_tpm: 'rate',
  limit_concurrency: 'rate',
  model_not_allowed: 'model',
  token_missing: 'key',
  token_invalid: 'key',
  token_expired: 'key',
  token_disabled: 'key',
  user_disabled: 'banned',
};

export const refusalReason = (code: ErrorCode): RefusalReason | undefined => reasons[code];

export interface RefusalForm {
  readonly status?: number;
  readonly type?: string;
  readonly code?: string;
  /** Instead of `code` where the answer has begun: readers of streams know other words. */
  readonly streamCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers that say which budget it was. @param resetsAt epoch seconds, null = never. */
  readonly budget?: (reason: RefusalReason, resetsAt: number | null) => Readonly<Record<string, string>>;
  /** What says when it is over: epoch seconds in the error, a wait among its details, or words behind the message. */
  readonly says?: 'resets_at' | 'retry_info' | 'words';
  /** The status for the one client that no other word stops, by its `user-agent`. */
  readonly except?: { readonly agent: RegExp; readonly status: number };
  readonly source: string;
}

/** As the error's own row says. */
const asItIs = (source: string): RefusalForm => ({ source });

const claudeCode =
  'https://docs.claude.com/en/api/errors; Claude Code 2.1.332: 403 = "Failed to authenticate", 429 rate_limit_error is waited for';
const claudeSpent: RefusalForm = { status: 429, type: 'billing_error', budget: spentHeaders, source: claudeCode };

const codex = 'https://github.com/openai/codex/blob/main/codex-rs/codex-api/src/api_bridge.rs';
const codexSpent = (reached?: string): RefusalForm => ({
  status: 429,
  type: 'usage_limit_reached',
  streamCode: 'insufficient_quota',
  says: 'resets_at',
  source: codex,
  // Without a time it says "Try again later", which helps nobody here.
  ...(reached === undefined ? {} : { headers: { 'x-codex-rate-limit-reached-type': reached } }),
});

const openAi = 'https://platform.openai.com/docs/guides/error-codes';
/**
 * Qwen Code stops at "quota", "exceeded" and "will reset" in the message alone (`isQuotaExhaustedError`), whatever the language
 * of the rest. opencode waits out every 429 and looks at nothing else (`SessionRetry.retryable`), so it alone gets the status of
 * a balance that is used up.
 */
const chatBudget: RefusalForm = {
  says: 'words',
  except: { agent: /^opencode\//, status: 403 },
  source: `${openAi}; https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/utils/quotaErrorDetection.ts; opencode 1.18.33`,
};
const google =
  'https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/googleQuotaErrors.ts: more than 300 s are not waited for';
const googleWait: RefusalForm = { says: 'retry_info', source: google };
const cohere = 'https://docs.cohere.com/reference/errors: a status and a message';
const ollama = 'https://github.com/ollama/ollama/blob/main/docs/api.md: a status and a text';

const allAsItIs = (source: string): Readonly<Record<RefusalReason, RefusalForm>> => ({
  balance: asItIs(source),
  limit: asItIs(source),
  day: asItIs(source),
  month: asItIs(source),
  rate: asItIs(source),
  model: asItIs(source),
  key: asItIs(source),
  banned: asItIs(source),
});

export const refusalForms: Readonly<Record<ProtocolId, Readonly<Record<RefusalReason, RefusalForm>>>> = {
  'openai-chat': { ...allAsItIs(openAi), day: chatBudget, month: chatBudget },
  'openai-responses': {
    balance: codexSpent('workspace_member_credits_depleted'),
    limit: codexSpent('workspace_member_usage_limit_reached'),
    day: codexSpent(),
    month: codexSpent(),
    rate: asItIs(codex),
    // By any other code it asks again.
    model: { status: 404, code: 'model_not_found', source: `${openAi}; Codex 0.171.0` },
    key: asItIs(openAi),
    banned: asItIs(openAi),
  },
  'anthropic-messages': {
    balance: claudeSpent,
    limit: claudeSpent,
    day: claudeSpent,
    month: claudeSpent,
    rate: asItIs(claudeCode),
    // "It may not exist or you may not have access to it", and how to choose another one.
    model: { status: 404, source: claudeCode },
    key: asItIs(claudeCode),
    banned: asItIs(claudeCode),
  },
  'gemini-generate': {
    balance: asItIs(google),
    limit: asItIs(google),
    day: googleWait,
    month: googleWait,
    rate: googleWait,
    model: asItIs(google),
    key: asItIs(google),
    banned: asItIs(google),
  },
  'cohere-chat': allAsItIs(cohere),
  'ollama-chat': allAsItIs(ollama),
};

const formOf = (protocol: ProtocolId, { refused }: ClientError): RefusalForm | undefined =>
  refused === undefined ? undefined : refusalForms[protocol][refused.reason];

export interface RefusalReader {
  /** The `user-agent` of the client. */
  readonly agent?: string | null;
  /** The answer has begun. */
  readonly streamed?: boolean;
}

/** The error with the status and words that clients of the dialect act upon. */
export function refusalAs(protocol: ProtocolId, error: ClientError, reader: RefusalReader = {}): ClientError {
  const form = formOf(protocol, error);
  if (form === undefined || error.refused === undefined) return error;
  const { type = error.type, says, except } = form;
  const isExcept = except?.agent.test(reader.agent ?? '') === true;
  const status = (isExcept ? except?.status : form.status) ?? error.status;
  const code = (reader.streamed === true ? form.streamCode : undefined) ?? form.code ?? error.code;
  const { resetsAt, seconds } = error.refused;
  return {
    ...(says === 'words' && resetsAt !== null ? withReset(error, resetsAt) : error),
    status,
    type,
    code,
    ...(says === 'resets_at' && resetsAt !== null ? { resetsAt } : {}),
    ...(says === 'retry_info' && seconds !== null ? { retryIn: seconds } : {}),
  };
}

/** @param resetsAt epoch seconds. */
function withReset(error: ClientError, resetsAt: number): ClientError {
  const { message, words } = error;
  const behind = ` (quota exceeded; will reset at ${new Date(resetsAt * 1000).toISOString().replace('.000', '')})`;
  const both = words === undefined ? {} : { words: { en: words.en + behind, zh: words.zh + behind } };
  return { ...error, message: message + behind, ...both };
}

/** @param showsBudgets programs may sign in, so that their answers show the budgets of their keys. */
export function refusalHeaders(
  protocol: ProtocolId,
  error: ClientError,
  showsBudgets: boolean,
): Readonly<Record<string, string>> {
  const { headers = none, budget } = formOf(protocol, error) ?? {};
  if (budget === undefined || error.refused === undefined || !showsBudgets) return headers;
  return { ...headers, ...budget(error.refused.reason, error.refused.resetsAt) };
}
const none: Readonly<Record<string, string>> = {};
