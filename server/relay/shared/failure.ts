/** What went wrong upstream, in the classes that decide everything else: retry elsewhere, cool down, refund. */
import type { FailureClass } from '../../contract/errors/row.ts';
import { AppError } from '../../contract/errors.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import type { UpstreamError, Usage } from '../../protocols/canonical.ts';
import { type Refusal, refusalIn } from '../../providers/knowledge/rejection.ts';

export interface UpstreamFailure {
  readonly class: FailureClass;
  /** Upstream's HTTP status; null when no answer came. */
  readonly status: number | null;
  /** The upstream's own message, or why it was not reached; redacted, only shown to clients for class client and refusal. */
  readonly error: UpstreamError | null;
  /** Seconds after which the upstream allows a retry. */
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
  /** Usage that had been reported before. */
  readonly usage?: Usage | null;
  /** Its words are among those that the operator disables channels for, whatever its status. */
  readonly named?: true;
  /** The client has got a part of it. */
  readonly delivered?: true;
  /** It was on its way, and nothing had gone wrong, when the call was ended from our side. */
  readonly sent?: true;
  /** It may have been carried out all the same: it is not retried at another channel. */
  readonly ordered?: true;
  /** Meaning of its words, where a row knows them. */
  readonly refusal?: Refusal;
  /** It came inside of a response that had begun well. */
  readonly inBody?: true;
}

/** No answer. */
export const unreachable: UpstreamFailure = {
  class: 'host',
  status: null,
  error: null,
  retryAfter: null,
  reason: 'unreachable',
};

/** Error codes of the runtime which show that nothing was sent. */
const unsent: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EPROTO',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

/** Whether the request cannot have reached the upstream, so that another channel may be tried. */
export const neverSent = (error: UpstreamError | null): boolean =>
  error?.code != null && (unsent.has(error.code) || /CERT|TLS|SSL/.test(error.code));

/** One channel that was tried. */
export interface AttemptSummary {
  readonly channelId: number;
  readonly name: string;
  /** null = it answered, or nothing more is known of it. */
  readonly failed: FailedAttempt | null;
}

export interface FailedAttempt {
  readonly class: FailureClass;
  readonly status: number | null;
  readonly reason: UpstreamFailure['reason'];
  /** From asking to knowing. */
  readonly ms: number;
  /** The upstream's own words without keys and addresses. */
  readonly message: string;
  /** Details of the error besides its message. */
  readonly detail?: string;
}

export const attemptSummary = ({ id, name }: { readonly id: number; readonly name: string }): AttemptSummary => ({
  channelId: id,
  name,
  failed: null,
});

export const failedAttempt = (failure: UpstreamFailure, ms: number): FailedAttempt => ({
  class: failure.class,
  status: failure.status,
  reason: failure.reason,
  ms: Math.round(ms),
  message: failure.error?.message ?? '',
  ...(failure.error?.detail === undefined ? {} : { detail: failure.error.detail }),
});

/** As the log row keeps it. */
export function loggedAttempt({ channelId: channel, name, failed }: AttemptSummary) {
  if (failed === null) return { channel, name };
  const { class: _, ...rest } = failed;
  return { channel, name, ...rest };
}

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

/** Statuses that a wait can heal. */
const passing: ReadonlySet<number> = new Set([429, 503, 529]);

/** A plan's month is the longest wait that means anything; what is larger is no number of a header either. */
const maxWaitSeconds = 31 * 86_400;

/** @param status of the response, or the one of an error inside of a stream. @param error without keys and addresses. @param stated seconds to wait, as the response's headers say it. */
export function statusFailure(status: number, error: UpstreamError, stated: number | null): UpstreamFailure {
  const wait = stated ?? (passing.has(status) ? (error.retryAfter ?? null) : null);
  const retryAfter = wait === null ? null : Math.min(wait, maxWaitSeconds);
  const kind = classify(status, error);
  const refusal = refusalIn(error, kind === 'key');
  const failure = { class: kind, status, error, retryAfter, reason: 'status' } as const;
  if (refusal === null) return failure;
  const { reason } = refusal;
  // Throttling and refused keys mention tokens and lengths too.
  if (reason === 'context' && failure.class === 'key') return failure;
  // The same prompt is too long everywhere, and every client knows 400 for it.
  if (reason === 'context') return { ...failure, class: 'client', status: 400, refusal };
  // No other channel should be asked for it, and no client takes 400 for a failed login.
  if (reason === 'content')
    return { ...failure, class: 'refusal', status: 400, error: { ...error, code: 'content_filter' }, refusal };
  return { ...failure, class: reason === 'spent' ? 'key' : 'host', refusal };
}

/** Clients give up at longer waits: https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/googleQuotaErrors.ts */
const maxClientWaitSeconds = 300;

/** Whether the channel would answer the same request with the same failure as long as a client would retry it. */
export function isPermanent({ class: kind, status, reason, retryAfter, refusal, named }: UpstreamFailure): boolean {
  if (reason !== 'status') return false;
  if (refusal !== undefined || named === true || status === 404 || status === 501) return true;
  return kind === 'key' && (status !== 429 || (retryAfter ?? 0) > maxClientWaitSeconds);
}

/**
 * Words of the operator's count with any status: a spent account may answer 400 or 429. What the caller wrote itself and the
 * upstream only repeats does not count.
 * @param keywords lower case. @param message what the caller wrote, as `writtenIn` reads it.
 */
export function withKeywords(
  failure: UpstreamFailure,
  keywords: readonly string[],
  message: () => string,
): UpstreamFailure {
  const upstreamMessage = failure.error?.message.toLowerCase() ?? '';
  const found = keywords.filter((word) => upstreamMessage.includes(word));
  if (found.length === 0) return failure;
  const own = message().toLowerCase();
  return found.every((word) => own.includes(word)) ? failure : { ...failure, class: 'key', named: true };
}

/**
 * What a caller wrote, with every escape read, since an upstream repeats it read: its body, query and headers.
 * @param text the body as it came, '' = it is no JSON: of two members with one name the parsed body has the last alone.
 */
export function writtenIn(body: unknown, text: string, { url, headers }: Pick<Request, 'url' | 'headers'>): string {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  const words = [...[JSON.stringify(body), text].map(unescaped), ...[...query].flat(), ...headers.values()];
  return words.join('\n').replace(/\s+/g, ' ');
}

/** Other escapes are gone once a body was parsed. A function for each escape takes a second for 16 MB of them. */
const escapes = [
  ['\\n', ' '],
  ['\\r', ' '],
  ['\\t', ' '],
  ['\\"', '"'],
  ['\\/', '/'],
  ['\\\\', '\\'],
] as const;
const unescaped = (text: string): string =>
  text.includes('\\') ? escapes.reduce((read, [from, to]) => read.replaceAll(from, to), text) : text;

/** An upstream that speaks of its own account's quota, whatever it blames: a caller would take it for his own. */
export const speaksOfQuota = ({ reason, error }: UpstreamFailure): boolean =>
  reason === 'status' && error !== null && refusalIn(error, true)?.reason === 'spent';

/** A caller's mistake fails everywhere alike; all else may succeed on another channel. */
export const mayRetry = (failure: UpstreamFailure): boolean =>
  failure.ordered !== true && (failure.class === 'key' || failure.class === 'host');

/** Too much to do, in the status of one dialect; in the others a plain 503. */
const overloaded = 529;

/**
 * The error a client gets when no channel is left. Client mistakes keep the upstream's status and words.
 * @param final every channel refuses the same request again: its status is one that no client retries.
 */
export function failureError(failure: UpstreamFailure, final = false): AppError {
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
      if (final || ((failure.class === 'client' || failure.class === 'refusal') && speaksOfQuota(failure)))
        return finalError(failure);
      if (failure.status === overloaded) return new AppError('upstream_overloaded');
      if (failure.status === 429) return new AppError('upstream_busy');
      if (failure.inBody === true) return new AppError('upstream_failed', reasonOf(failure));
      return new AppError('upstream_status', { status: failure.status ?? 0 });
  }
}

/** An upstream's words about its own account's quota are kept from a caller, who would take them for his own. */
function finalError(failure: UpstreamFailure): AppError {
  const code = permanentCode(failure);
  return new AppError(code, code === 'upstream_spent' ? {} : reasonOf(failure));
}

function permanentCode(failure: UpstreamFailure): 'upstream_key' | 'upstream_spent' | 'upstream_missing' {
  const { class: kind, status, refusal } = failure;
  if (refusal?.reason === 'spent' || status === 402 || status === 429 || speaksOfQuota(failure))
    return 'upstream_spent';
  return kind === 'key' ? 'upstream_key' : 'upstream_missing';
}

/** Words that readers put in where an error came without any. */
const noWords = /^bad response status code \d+$/;

/** The upstream's words behind ours, in both languages' punctuation. */
function reasonOf({ error }: Pick<UpstreamFailure, 'error'>): {
  readonly reason_zh: string;
  readonly reason_en: string;
} {
  const words = error === null || noWords.test(error.message) ? '' : withoutAccount(error.message);
  return words === '' ? { reason_zh: '', reason_en: '' } : { reason_zh: `：${words}`, reason_en: `: ${words}` };
}

/** Takes addresses and keys out of an upstream's words before anybody else reads them. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  if (text.length > readMessage) {
    // A secret that is cut in two would not be found: what the cut has divided goes too.
    const border = text.lastIndexOf(' ', readMessage);
    clean = text.slice(0, border > 0 ? border : readMessage);
  }
  for (const secret of secrets) if (secret.length >= 6) clean = clean.replaceAll(secret, '***');
  return clean
    .replace(/\b(?:https?|wss?):\/\/[^\s"'<>)]+/gi, '***')
    .replace(/\b(?:sk|pk|key|AIza|gsk|xai|ga[st])[-_]?[A-Za-z0-9_-]{16,}\b/g, '***')
    .replace(/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '***')
    .slice(0, keptMessage);
}

/** Characters of an upstream's message: what is kept, and what is read for that. */
const keptMessage = 2000;
const readMessage = 64 * 1024;

/** An upstream's error without keys and addresses, as it is written to rows that administrators read. */
export function redacted(
  error: UpstreamError,
  { keys, baseUrl }: { readonly keys: readonly string[]; readonly baseUrl: string },
): UpstreamError {
  const secrets = [...keys, baseUrl];
  const message = redact(error.message, secrets);
  return error.detail === undefined
    ? { ...error, message }
    : { ...error, message, detail: redact(error.detail, secrets) };
}

const hidden = '***';
const account = 'organi[sz]ation|account|project|workspace|team|tenant|subscription|resource';
const quoted = '"[^"]{1,100}"|\'[^\']{1,100}\'|`[^`]{1,100}`|“[^”]{1,100}”';
const amount = '-?[$€£¥￥＄]?\\s*-?\\d[\\d,]*(?:\\.\\d+)?';

/** Parts of an upstream's message about its account, and their replacements. */
const accountWords: readonly (readonly [RegExp, string])[] = [
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, hidden],
  [/\barn:[^\s"',;)]+/g, hidden],
  [/\bprojects\/[^\s/"',;)]+/g, `projects/${hidden}`],
  // Ids have digits or capitals; members of requests have neither.
  [
    /["'`]?\b(?:org|proj|acct|team|user|ws|wrkspc|workspace|sub|cus|ak)[-_](?=[a-z]*[A-Z\d])[A-Za-z\d]{8,}\b["'`]?/g,
    hidden,
  ],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, hidden],
  [new RegExp(`\\b((?:${account})(?:[ _](?:name|id|number))?)\\s*[:=]?\\s*(?:${quoted})`, 'gi'), `$1 ${hidden}`],
  [new RegExp(`\\b((?:${account})(?:[ _](?:name|id|number))?\\s*[:=])\\s*(?!\\*)[^\\s,;)]+`, 'gi'), `$1 ${hidden}`],
  [new RegExp(`\\b((?:${account})) [A-Z][\\w-]*(?: [A-Z][\\w-]*)*`, 'g'), `$1 ${hidden}`],
  [
    new RegExp(
      `((?:balance|quota|credits?|余额|额度)(?:\\s*[:=：])?)\\s*${amount}(?:\\s*(?:USD|EUR|CNY|RMB|元|美元))?`,
      'gi',
    ),
    `$1 ${hidden}`,
  ],
  [/-?(?:US)?[$€£¥￥＄]\s*-?\d[\d,]*(?:\.\d+)?/g, hidden],
  [
    /\b(?:USD|EUR|CNY|RMB)\s*-?\d[\d,]*(?:\.\d+)?|-?\d[\d,]*(?:\.\d+)?\s*(?:\b(?:USD|EUR|CNY|RMB|dollars?|credits?)\b|元|美元)/gi,
    hidden,
  ],
  [/\b\d{9,}\b/g, hidden],
  [
    /\b(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+(?:com|net|org|io|ai|cn|dev|app|cloud|co|us|eu|de|example|internal|local)\b(?::\d+)?(?:\/[^\s"'<>),]*)?/gi,
    hidden,
  ],
];

/** An upstream's words as its clients may read them: without its account, hosts and amounts. @param text without keys and addresses. */
export const withoutAccount = (text: string): string =>
  accountWords.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text);
