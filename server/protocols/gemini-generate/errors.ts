/** Google's error object, given and received. */
import type { UpstreamError } from '../canonical.ts';
import type { ClientError } from '../codec.ts';
import { number, parseJson, record, records, text } from '../shared/json.ts';
import { waitHint } from '../shared/wait-hint.ts';

const words: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

export function encodeError(error: ClientError): unknown {
  // What is wrong with an account and not with the request has a word of its own, with the same status.
  const blameless = error.status === 400 && error.type === 'api_error';
  const word = blameless ? undefined : words[error.status];
  const status = word ?? (error.status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL');
  const details = [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: error.code,
      metadata: { request_id: error.requestId },
    },
    ...(error.retryIn === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${Math.ceil(error.retryIn)}s` }]),
  ];
  return { error: { code: error.status, message: messageOf(error), status, details } };
}

function messageOf({ message, overflow }: ClientError): string {
  if (overflow === undefined || /input token count/i.test(message)) return message;
  const { tokens, limit } = overflow;
  return tokens === null || limit === null
    ? `The input token count exceeds the maximum number of tokens allowed. ${message}`
    : `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${limit}). ${message}`;
}

export const encodeStreamError = (error: ClientError): string => `data: ${JSON.stringify(encodeError(error))}\n\n`;

/** Streams that are JSON lists report their error as a list of one. A wrong key comes as 400 with a reason. */
export function decodeError(status: number, body: string): UpstreamError {
  const parsed = parseJson(body);
  const outer = record(Array.isArray(parsed) ? parsed[0] : parsed);
  const inner = record(outer?.error);
  const reason =
    records(inner?.details)
      .map((detail) => text(detail.reason))
      .find((found) => found !== null) ?? null;
  const decoded = number(inner?.code);
  const wait = waitHint(outer);
  return {
    status: reason === 'API_KEY_INVALID' ? 401 : status === 0 || status === 200 ? decoded : status,
    type: text(inner?.status),
    code: reason === 'API_KEY_INVALID' ? 'invalid_api_key' : (reason ?? text(inner?.status)),
    message: text(inner?.message) ?? text(outer?.message) ?? `bad response status code ${status}`,
    ...(wait === null ? {} : { retryAfter: wait }),
  };
}
