/** Cohere's error object, given and received. */
import type { UpstreamError } from '../canonical.ts';
import type { ClientError } from '../codec.ts';
import { decodeError as decodeOpenAiError } from '../openai-chat/errors.ts';

export const encodeError = (error: ClientError): unknown => ({ id: error.requestId, message: error.message });

/** The last event has a place for what went wrong. */
export const encodeStreamError = (error: ClientError): string => {
  const delta = { error: error.message, finish_reason: 'ERROR' };
  return `event: message-end\ndata: ${JSON.stringify({ type: 'message-end', id: error.requestId, delta })}\n\n`;
};

/** An invalid key has a status of its own here. */
export function decodeError(status: number, body: string): UpstreamError {
  const decoded = decodeOpenAiError(status, body);
  return status === 498 ? { ...decoded, status: 401, code: 'invalid_api_key' } : decoded;
}
