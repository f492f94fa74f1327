/** Errors in the shape of the caller's own dialect, in the caller's language, with the request id and nothing of the upstream's identity. */
import type { Language } from '../../contract/enum.ts';
import { type AppError, type ErrorCode, formatError } from '../../contract/errors.ts';
import { textIn } from '../../contract/language.ts';
import { isOutOfMemory, shortageSeconds } from '../../contract/own-shortage.ts';
import type { RateUse } from '../../contract/snapshot.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { ClientError } from '../../protocols/codec.ts';
import { rateHeaders } from '../../protocols/rate-headers.ts';
import { refusalAs, refusalHeaders, refusalReason } from '../../protocols/refusals.ts';
import { allCodecs, codecFor, commonProtocol } from '../../protocols/registry.ts';
import { asAppError } from './defect.ts';
import { speaksOfQuota, type UpstreamFailure, withoutAccount } from './failure.ts';

/** `message` has both languages, for what is stored (`storedIn` reads it). @param failure the upstream's own refusal of the caller's request; its status, code and words are passed on. */
export function clientError(error: unknown, requestId: string, failure: UpstreamFailure | null = null): ClientError {
  if (
    failure?.error != null &&
    failure.reason === 'status' &&
    (failure.class === 'client' || failure.class === 'refusal') &&
    !speaksOfQuota(failure)
  ) {
    const { type, code, message, param } = failure.error;
    const status = failure.status ?? 400;
    const overflow = failure.refusal?.reason === 'context' ? failure.refusal : null;
    return {
      status,
      // Some dialects have statuses in capitals for types.
      type: overflow === null && /^[a-z_]+$/.test(type ?? '') ? (type ?? '') : 'invalid_request_error',
      code: overflow === null ? (code ?? 'upstream_status') : 'context_length_exceeded',
      message: `${withoutAccount(message)} (request id: ${requestId})`,
      requestId,
      ...(param === undefined || overflow !== null ? {} : { param }),
      ...(overflow === null ? {} : { overflow }),
      ...(passing.has(status) ? {} : final),
    };
  }
  const known = asAppError(error);
  const zh = formatError(known.code, known.params, 'zh');
  const en = formatError(known.code, known.params, 'en');
  return {
    status: statusOf(known),
    type: known.row.type,
    code: known.code,
    message: `${en} / ${zh} (request id: ${requestId})`,
    words: { en: `${en} (request id: ${requestId})`, zh: `${zh} (request id: ${requestId})` },
    requestId,
    ...refusedBy(known),
    ...(isFinal(known) ? final : {}),
  };
}

/** A rule of a channel names the status of its refusal. */
const statusOf = ({ code, params, row }: AppError): number =>
  code === 'channel_rule_refused' && typeof params.status === 'number' ? params.status : row.status;

function refusedBy(error: AppError): Pick<ClientError, 'refused'> {
  const { seconds, resets } = error.params;
  const reason = refusalReason(error.code);
  if (reason === undefined) return {};
  const rate = rateIn(error);
  const refused = { reason, resetsAt: numberOrNull(resets), seconds: numberOrNull(seconds) };
  return { refused: rate === null ? refused : { ...refused, rate } };
}

const rateKinds: Partial<Record<ErrorCode, RateUse['kind']>> = {
  limit_rpm: 'requests',
  limit_requests: 'requests',
  limit_successes: 'requests',
  limit_tpm: 'tokens',
};

function rateIn({ code, params: { limit, remaining, seconds } }: AppError): RateUse | null {
  const kind = rateKinds[code];
  if (kind === undefined || typeof limit !== 'number' || typeof seconds !== 'number') return null;
  return { kind, limit, remaining: numberOrNull(remaining) ?? 0, resetMs: seconds * 1000 };
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** The error in one language. @param language of the reader; null = both languages, for what is stored. */
export const localizedError = (error: ClientError, language: Language | null): ClientError =>
  language === null || error.words === undefined ? error : { ...error, message: textIn(error.words, language) };

/** Statuses of single dialects, and what they are for all others. */
const common: Readonly<Record<number, number>> = { 529: 503 };

/** The error with a status and words that clients of the dialect know. */
function inDialect(protocol: ProtocolId, clientError: ClientError, agent: string | null = null): ClientError {
  const error = refusalAs(protocol, clientError, { agent });
  const plain = common[error.status];
  if (plain === undefined || codecFor(protocol).client.statuses?.includes(error.status)) return error;
  return { ...error, status: plain };
}

const saying = (error: ClientError, message: string): ClientError => ({
  ...error,
  message,
  words: { en: message, zh: message },
});

/** For the channel's operator: the upstream's own status and words, which its callers never see. */
export function withUpstreamWords(clientError: ClientError, failure: UpstreamFailure | null): ClientError {
  const message = failure?.error?.message ?? '';
  if (failure?.reason === 'unreachable' && message !== '') return saying(clientError, message);
  if (failure?.status == null || failure.reason !== 'status') return clientError;
  return saying(clientError, `HTTP ${failure.status}${message === '' ? '' : `: ${message}`}`);
}

const final = { final: true } as const;
/** The caller's mistakes that may be gone the next time: a conflict, too early, too fast. */
const passing = new Set([408, 409, 425, 429]);
/** What no upstream does, none will do in a second. */
const undone = 501;

/** Whether the same request would fail again: a window reopens and an upstream recovers, a wrong key stays wrong. */
const isFinal = ({ row }: AppError): boolean =>
  row.status === undone || (row.status < 500 && (!passing.has(row.status) || row.type === 'insufficient_quota'));

/** Official SDKs, and the agents built on them, retry after nearly every failure unless this header forbids it. */
const retryHeaders = (error: ClientError, retryAfter: number | null): Record<string, string> => ({
  ...(error.final === true
    ? { 'x-should-retry': 'false' }
    : error.status === 503 && retryAfter !== null
      ? { 'x-should-retry': 'true' }
      : {}),
  ...(retryAfter === null ? {} : { 'retry-after': String(Math.ceil(retryAfter)) }),
});

const jsonType = 'application/json; charset=utf-8';

function errorOf(
  protocol: ProtocolId,
  clientError: ClientError,
  retryAfter: number | null,
  showsBudgets: boolean,
  agent: string | null = null,
): ErrorAnswer {
  const error = inDialect(protocol, clientError, agent);
  return {
    text: JSON.stringify(codecFor(protocol).client.encodeError(error)),
    status: error.status,
    headers: {
      'content-type': jsonType,
      'x-oneapi-request-id': error.requestId,
      ...refusalHeaders(protocol, error, showsBudgets),
      ...(error.refused?.rate === undefined ? {} : rateHeaders(protocol, [error.refused.rate], null)),
      ...retryHeaders(error, retryAfter),
    },
  };
}

/** @param showsBudgets programs may sign in. */
export function errorResponse(
  protocol: ProtocolId,
  clientError: ClientError,
  retryAfter: number | null,
  showsBudgets: boolean,
): Response {
  const { text, ...init } = errorOf(protocol, clientError, retryAfter, showsBudgets);
  return new Response(text, init);
}

/** The status with which a caller of the dialect, or of the path, gets the error. */
export const sentStatus = (
  { headers }: Pick<Request, 'headers'>,
  path: string,
  error: ClientError,
  protocol: ProtocolId = dialectOf(path),
): number =>
  forms.some(([pattern]) => pattern.test(path))
    ? (common[error.status] ?? error.status)
    : inDialect(protocol, error, headers.get('user-agent')).status;

/** What a client reads where its answer has begun. @param language null = both, for what is stored. */
export const streamError = (protocol: ProtocolId, error: ClientError, language: Language | null): string =>
  codecFor(protocol).client.encodeStreamError(localizedError(refusalAs(protocol, error, { streamed: true }), language));

/** Programs that draw and sing have forms of their own for what went wrong. */
const forms: readonly (readonly [path: RegExp, form: (error: ClientError) => unknown])[] = [
  [/^\/suno\//, ({ code, message }) => ({ code, message })],
  [
    /^(?:\/[a-z][\w-]*)?\/mj\//,
    // Their codes are numbers; ours are words.
    ({ code, message }) => ({ code: Number(code) || 4, description: message, type: 'new_api_error' }),
  ],
];

/** An error as its caller gets it. */
export interface ErrorAnswer {
  readonly text: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The error, and whose request it was. */
export interface Refused {
  readonly clientError: ClientError;
  /** Seconds after which another try makes sense. */
  readonly retryAfter: number | null;
  /** Language of the reader; null = both, for what is stored. */
  readonly language: Language | null;
  /** Programs may sign in, and read which budget is used up. */
  readonly showsBudgets: boolean;
}

/** The one response for what went wrong before an answer began. @param protocol the caller's, where the path does not say it. */
export function refusalOf(
  { url, headers }: Pick<Request, 'url' | 'headers'>,
  path: string,
  { clientError, retryAfter, language, showsBudgets }: Refused,
  protocol: ProtocolId = dialectOf(path),
): ErrorAnswer {
  const localized = localizedError(clientError, language);
  const form = forms.find(([pattern]) => pattern.test(path))?.[1];
  if (form !== undefined)
    return {
      text: JSON.stringify(form(localized)),
      status: common[localized.status] ?? localized.status,
      headers: { 'content-type': jsonType, ...retryHeaders(localized, retryAfter) },
    };
  const rendered = errorOf(protocol, localized, retryAfter, showsBudgets, headers.get('user-agent'));
  return listsErrors(path, url) ? { ...rendered, text: `[${rendered.text}]` } : rendered;
}

export function refusalFor(...requested: Parameters<typeof refusalOf>): Response {
  const { text, ...init } = refusalOf(...requested);
  return new Response(text, init);
}

/** Where what words errors failed itself: in the form that most programs read. @param error that it failed with. */
export function plainFailure(requestId: string, error: unknown): Response {
  const short = isOutOfMemory(error);
  const said = short ? `The server is busy; retry in ${shortageSeconds} seconds` : 'Internal server error';
  const code = short ? 'overloaded' : 'internal';
  return Response.json(
    { error: { message: `${said} (request id: ${requestId})`, type: 'api_error', code } },
    {
      status: short ? 503 : 500,
      headers: { 'x-oneapi-request-id': requestId, ...(short ? { 'retry-after': String(shortageSeconds) } : {}) },
    },
  );
}

const listsErrors = (path: string, url: string): boolean =>
  codecFor(dialectOf(path)).client.transform?.(url)?.listsErrors === true;

/** The same error for a client whose stream would have been a list: a list of one. */
export async function listedError(response: Response, path: string, url: string): Promise<Response> {
  if (!listsErrors(path, url)) return response;
  return new Response(`[${await response.text()}]`, { status: response.status, headers: response.headers });
}

/** Seconds after which another try makes sense, where the error knows them. */
export const retryAfterOf = (error: unknown): number | null =>
  error instanceof Error ? numberOrNull(asAppError(error).params.seconds) : null;

/** The dialect of a path that has no route of its own. */
export const dialectOf = (path: string): ProtocolId =>
  allCodecs.find(({ definition }) => definition.claims(path))?.id ?? commonProtocol;
