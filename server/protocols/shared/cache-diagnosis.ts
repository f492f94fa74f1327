/**
 * Why a provider says that its cache was missed, and how it is asked. Sources: Anthropic, "Cache diagnostics" (`diagnostics` of Messages,
 * general since September 2026); OpenAI, "Prompt cache diagnostics" (`prompt_cache_diagnostics` of Responses).
 */
import { record } from './json.ts';

/** A provider's own words. */
export interface CacheDiagnosis {
  /** `tools_changed`, `messages_changed` and their likes; `not_found` = it does not know the turn before, `unavailable` = it cannot say. */
  readonly reason: string;
  /** Tokens that would have been read, by the provider's estimate; null = it names none. */
  readonly tokens: number | null;
}

/** What a provider is to compare a request with. */
export interface Compared {
  /** The answer before, by its upstream's id; null = none is known. */
  readonly previous: string | null;
}

/** How a dialect asks and answers. */
export interface CacheDiagnostics {
  /** The member of a request that asks, and the member of it that names the answer to compare with. */
  readonly asks: readonly [member: string, named: string];
  /** A first turn asks too, naming none: the provider keeps what it compares with of such requests alone. */
  readonly asksFirst: boolean;
  /** The member of an answer that says it. */
  readonly says: string;
  /** The member of a stream's event that holds the answer. */
  readonly within: string;
  /** What an answer shows of having been asked, and what stands there otherwise; undefined = nothing. */
  readonly shown: readonly { readonly path: readonly string[]; readonly value: string | undefined }[];
  /** @param value what the answer says. @returns null = nothing changed, or it is not known yet. */
  read(value: unknown): CacheDiagnosis | null;
}

const maxReason = 40;
const tokensIn = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
const reasonIn = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= maxReason && /^[a-z_]+$/.test(value) ? value : null;

export const anthropicDiagnostics: CacheDiagnostics = {
  asks: ['diagnostics', 'previous_message_id'],
  asksFirst: true,
  says: 'diagnostics',
  within: 'message',
  shown: [{ path: ['diagnostics'], value: 'null' }],
  read(value) {
    const found = record(record(value)?.cache_miss_reason);
    const reason = reasonIn(found?.type);
    if (found === null || reason === null) return null;
    return reason === 'previous_message_not_found'
      ? { reason: 'not_found', tokens: null }
      : { reason, tokens: tokensIn(found.cache_missed_input_tokens) };
  },
};

export const openAiDiagnostics: CacheDiagnostics = {
  asks: ['prompt_cache_options', 'comparison_response_id'],
  asksFirst: false,
  says: 'prompt_cache_diagnostics',
  within: 'response',
  shown: [
    { path: ['prompt_cache_diagnostics'], value: undefined },
    { path: ['prompt_cache_options', 'comparison_response_id'], value: undefined },
  ],
  read(value) {
    const found = record(value);
    if (found?.type === 'comparison_response_not_found') return { reason: 'not_found', tokens: null };
    if (found?.type === 'unavailable') return { reason: 'unavailable', tokens: null };
    const reason = found?.type === 'cache_miss' ? reasonIn(found.reason) : null;
    return found === null || reason === null ? null : { reason, tokens: tokensIn(found.cache_missed_tokens) };
  },
};
