/** What a row of the log says besides its columns. Pure. */
import type { Log } from '../../server/contract/entities.ts';

export type LogDetails = Readonly<Record<string, unknown>>;

export function detailsOf({ other }: Log): LogDetails {
  try {
    const details: unknown = JSON.parse(other || '{}');
    return typeof details === 'object' && details !== null ? (details as LogDetails) : {};
  } catch {
    return {};
  }
}

const numberIn = (details: LogDetails, name: string): number => {
  const value = details[name];
  return typeof value === 'number' ? value : 0;
};

/** Milliseconds; rows of other products know whole seconds alone. */
export const msOf = (log: Log, details: LogDetails): number =>
  typeof details.ms === 'number' ? details.ms : log.use_time * 1000;

/** Milliseconds to the first token of a stream; null = there was none. */
export const firstTokenOf = (log: Log, details: LogDetails): number | null =>
  log.is_stream && typeof details.frt === 'number' && details.frt >= 0 ? details.frt : null;

/** What took less says nothing of a speed, in milliseconds. */
const minSpeedMs = 50;

/** Tokens per second while they came; null = nothing came, or all at once. */
export function speedOf(log: Log, details: LogDetails): number | null {
  const ms = msOf(log, details) - (firstTokenOf(log, details) ?? 0);
  return log.completion_tokens === 0 || ms < minSpeedMs ? null : (log.completion_tokens * 1000) / ms;
}

/** Share of the input that was read from a cache, 0 to 1. */
export function cachedShareOf(log: Log, details: LogDetails): number {
  const read = numberIn(details, 'cache_tokens');
  // Where the dialect counts the cache beside the prompt, the row does too.
  const beside = details.claude === true ? read + numberIn(details, 'cache_creation_tokens') : 0;
  const whole = log.prompt_tokens + beside;
  return whole === 0 ? 0 : Math.min(1, read / whole);
}

/** What went wrong, as filters know it; '' = nothing did. */
export const errorOf = ({ refused, failure }: LogDetails): string =>
  typeof refused === 'string' ? refused : typeof failure === 'string' ? failure : '';

/** The status that the upstream or this site gave; '' = none is known. */
export const codeOf = (details: LogDetails): string =>
  typeof details.status === 'number' ? String(details.status) : (/\b[1-5]\d\d\b/.exec(errorOf(details))?.[0] ?? '');

/** Where what refused a request is changed; null = nowhere that this reader may go. */
export function ruleOf(
  log: Log,
  details: LogDetails,
  reader: { readonly id: number; readonly admin: boolean },
): string | null {
  const code = typeof details.refused === 'string' ? details.refused : '';
  const own = log.user_id === reader.id;
  const ofUser = own ? '/topup' : `/user/edit/${log.user_id}`;
  if (code === '' || log.user_id === 0) return null;
  if (/^(token_|ip_not_allowed|model_not_allowed)/.test(code) && own && log.token_id !== 0)
    return `/token?open=${log.token_id}`;
  if (!own && !reader.admin) return null;
  if (/^(user_exhausted|balance_elsewhere)/.test(code)) return ofUser;
  if (!reader.admin) return null;
  if (/^(token_|ip_not_allowed|user_)/.test(code)) return `/user/edit/${log.user_id}`;
  if (/^(model_not_allowed|model_not_found|channel_unavailable|group_)/.test(code))
    return `/channel?model=${encodeURIComponent(log.model_name)}`;
  if (/^(model_price_unset)/.test(code)) return '/setting?tab=models';
  if (/^(limit_|rate_limited)/.test(code)) return '/setting?tab=ratelimit';
  return null;
}

/** What a request spent its time on, in milliseconds and in its order. */
export interface Span {
  readonly kind: 'failed' | 'wait' | 'stream';
  readonly ms: number;
  /** The channel's name; '' = not to be named. */
  readonly name: string;
}

export function spansOf(log: Log, details: LogDetails): readonly Span[] {
  const { attempts = [] } = (details.admin_info ?? {}) as {
    attempts?: readonly { readonly name?: string; readonly reason?: string; readonly ms?: number }[];
  };
  const failed = attempts.flatMap(({ name = '', reason, ms = 0 }): Span[] =>
    reason === undefined ? [] : [{ kind: 'failed', ms, name }],
  );
  const lost = failed.reduce((sum, { ms }) => sum + ms, 0);
  const all = msOf(log, details);
  const first = firstTokenOf(log, details);
  const wait = Math.max(0, (first ?? all) - lost);
  const stream = first === null ? 0 : Math.max(0, all - first);
  return [
    ...failed,
    ...(wait === 0 ? [] : [{ kind: 'wait', ms: wait, name: '' } as const]),
    ...(stream === 0 ? [] : [{ kind: 'stream', ms: stream, name: '' } as const]),
  ];
}
