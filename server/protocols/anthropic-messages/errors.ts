/** Anthropic's error object, given and received. */
import type { UpstreamError } from '../canonical.ts';
import type { ClientError } from '../codec.ts';
import { parseJson, record, text } from '../shared/json.ts';
import { waitHint } from '../shared/wait-hint.ts';

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

export function encodeError(error: ClientError): unknown {
  // An account that is used up has the status of a rate here, which this type alone tells apart.
  const type =
    error.type === 'billing_error'
      ? error.type
      : (types[error.status] ?? (error.status < 500 ? 'invalid_request_error' : 'api_error'));
  return { type: 'error', error: { type, message: messageOf(error), code: error.code }, request_id: error.requestId };
}

/** Clients look for these words, and read the sizes in them. */
const tooLong = /prompt is too long|exceed context limit/i;

function messageOf({ message, overflow }: ClientError): string {
  if (overflow === undefined || tooLong.test(message)) return message;
  const { tokens, limit } = overflow;
  const sizes = tokens === null || limit === null ? '' : `${tokens} tokens > ${limit} maximum: `;
  return `prompt is too long: ${sizes}${message}`;
}

export const encodeStreamError = (error: ClientError): string =>
  `event: error\ndata: ${JSON.stringify(encodeError(error))}\n\n`;

export function decodeError(status: number, body: string): UpstreamError {
  const outer = record(parseJson(body));
  const inner = record(outer?.error) ?? outer;
  const wait = waitHint(outer);
  return {
    status,
    type: text(inner?.type),
    code: text(inner?.code) ?? text(inner?.type),
    message: text(inner?.message) ?? text(outer?.message) ?? `bad response status code ${status}`,
    ...(wait === null ? {} : { retryAfter: wait }),
  };
}
