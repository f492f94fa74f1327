/** Errors in the form of the Responses API. */
import type { UpstreamError } from '../canonical.ts';
import type { ClientError } from '../codec.ts';
import { decodeError as decodeOpenAiError } from '../openai-chat/errors.ts';
import { parseJson, record, text } from '../shared/json.ts';
import { waitHint } from '../shared/wait-hint.ts';

const detailsOf = ({ code, message, type, param, overflow, resetsAt }: ClientError) => ({
  message,
  type,
  param: param ?? (overflow === undefined ? null : 'input'),
  code,
  ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
});

export const encodeError = (error: ClientError): unknown => ({ error: detailsOf(error) });

/** Both forms in one event: the published flat one and the nested one that servers send. */
export function encodeStreamError(error: ClientError): string {
  const { code, message } = error;
  const details = detailsOf(error);
  const flat = { type: 'error', code, message, param: details.param, error: details };
  const response = {
    id: `resp_${error.requestId}`,
    object: 'response',
    status: 'failed',
    error: { code, message },
    output: [],
    usage: null,
  };
  return `event: error\ndata: ${JSON.stringify(flat)}\n\nevent: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response })}\n\n`;
}

/** Also finds the error inside of a failed response. */
export function decodeError(status: number, body: string): UpstreamError {
  const outer = record(parseJson(body));
  const nested = record(record(outer?.response)?.error);
  if (nested === null) return decodeOpenAiError(status, body);
  const wait = waitHint(nested);
  return {
    status,
    type: text(nested.type),
    code: text(nested.code),
    message: text(nested.message) ?? 'the response failed',
    ...(wait === null ? {} : { retryAfter: wait }),
  };
}
