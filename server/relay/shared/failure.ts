/** What went wrong upstream, in the classes that decide everything else: retry elsewhere, cool down, refund. */
import type { FailureClass } from '../../contract/errors/row.ts';
import { AppError } from '../../contract/errors.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import type { UpstreamError, Usage } from '../../protocols/canonical.ts';

export interface UpstreamFailure {
  readonly class: FailureClass;
  /** Upstream's HTTP status; null when no answer came. */
  readonly status: number | null;
  /** Upstream's own words, or why it was not reached; redacted, only shown to clients for class client and refusal. */
  readonly error: UpstreamError | null;
  /** Seconds the upstream asked us to wait. */
  readonly retryAfter: number | null;
  readonly reason:
    | 'unreachable'
    | 'timeout'
    | 'status'
    | 'invalid'
    | 'broken'
    | 'empty'
    | 'uncompacted'
    | 'starved'
    | 'untenured';
  /** What had been reported before. */
  readonly usage?: Usage | null;
  /** Its words are among those that the operator disables channels for, whatever its status. */
  readonly named?: true;
  /** The client has got a part of it. */
  readonly delivered?: true;
  /** It may have been carried out all the same: nobody else is asked for it once more. */
  readonly ordered?: true;
}

/** Nobody answered. */
export const unreachable: UpstreamFailure = {
  class: 'host',
  status: null,
  error: null,
  retryAfter: null,
  reason: 'unreachable',
};

/** One channel that was asked. */
export interface Tried {
  readonly channelId: number;
  readonly name: string;
  /** null = it answered, or nothing more is known of it. */
  readonly failed: FailedAttempt | null;
}

export interface FailedAttempt {
  readonly status: number | null;
  readonly reason: UpstreamFailure['reason'];
  /** From asking to knowing. */
  readonly ms: number;
  /** The upstream's own words, redacted. */
  readonly message: string;
}

export const triedOnly = ({ id, name }: { readonly id: number; readonly name: string }): Tried => ({
  channelId: id,
  name,
  failed: null,
});

const longestMessage = 300;

export const failedAttempt = (failure: UpstreamFailure, ms: number): FailedAttempt => ({
  status: failure.status,
  reason: failure.reason,
  ms: Math.round(ms),
  message: (failure.error?.message ?? '').slice(0, longestMessage),
});

const keyStatuses = new Set([401, 402, 403, 429]);
const keyWords =
  /invalid_api_key|account_deactivated|billing_not_active|insufficient_quota|authentication_error|permission_error/;

/** 404 counts as the host's: another channel may well have the model. */
export function classify(status: number, error: UpstreamError | null): FailureClass {
  if (keyStatuses.has(status) || keyWords.test(`${error?.code ?? ''} ${error?.type ?? ''}`)) return 'key';
  if (status >= 500 || status === 408 || status === 404 || (status >= 300 && status < 400)) return 'host';
  if (/content_filter|content_policy/.test(`${error?.code ?? ''} ${error?.type ?? ''}`)) return 'refusal';
  return 'client';
}

/**
 * Words of the operator's count with any status: a spent account may answer 400 or 429. What the caller wrote itself and the
 * upstream only repeats does not count.
 * @param keywords lower case.
 */
export function withKeywords(
  failure: UpstreamFailure,
  keywords: readonly string[],
  asked: () => string,
): UpstreamFailure {
  const said = failure.error?.message.toLowerCase() ?? '';
  const found = keywords.filter((word) => said.includes(word));
  if (found.length === 0) return failure;
  const own = asked().toLowerCase();
  return found.every((word) => own.includes(word)) ? failure : { ...failure, class: 'key', named: true };
}

/** A caller's mistake fails everywhere alike; all else may succeed on another channel. */
export const mayRetry = (failure: UpstreamFailure): boolean =>
  failure.ordered !== true && (failure.class === 'key' || failure.class === 'host');

/** Too much to do, in the status of one dialect; in the others a plain 503. */
const overloaded = 529;

/** The error a client gets when no channel is left. Client mistakes keep the upstream's status and words; the rest says nothing about who failed. */
export function failureError(failure: UpstreamFailure): AppError {
  switch (failure.reason) {
    case 'unreachable':
      return new AppError('upstream_unreachable');
    case 'starved':
      return new AppError('overloaded', { seconds: failure.retryAfter ?? 1 });
    case 'untenured':
      return new AppError('storage_unavailable', {
        reason: reasonText('tenure_over'),
        seconds: failure.retryAfter ?? 1,
      });
    case 'timeout':
      return new AppError('upstream_timeout');
    case 'broken':
      return new AppError('upstream_broken');
    case 'invalid':
    case 'empty':
    case 'uncompacted':
      return new AppError('upstream_invalid');
    case 'status':
      if (failure.status === overloaded) return new AppError('upstream_overloaded');
      if (failure.status === 429) return new AppError('upstream_busy');
      if (failure.class === 'key') return new AppError('upstream_key');
      return new AppError('upstream_status', { status: failure.status ?? 0 });
  }
}

/** Takes addresses and keys out of an upstream's words before anybody else reads them. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 6) clean = clean.replaceAll(secret, '***');
  return clean
    .replace(/\b(?:https?|wss?):\/\/[^\s"'<>)]+/gi, '***')
    .replace(/\b(?:sk|pk|key|AIza|gsk|xai)[-_]?[A-Za-z0-9_-]{16,}\b/g, '***')
    .replace(/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '***')
    .slice(0, 2000);
}
