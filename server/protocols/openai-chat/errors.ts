/** OpenAI's error object, given and received. */
import type { UpstreamError } from '../canonical.ts';
import type { ClientError } from '../codec.ts';
import { type Json, list, parseJson, record, records, text } from '../shared/json.ts';
import { waitHint } from '../shared/wait-hint.ts';

export function encodeError(error: ClientError): unknown {
  const { message, type, code, overflow } = error;
  return { error: { message, type, param: error.param ?? (overflow === undefined ? null : 'messages'), code } };
}

export function encodeStreamError(error: ClientError): string {
  return `data: ${JSON.stringify(encodeError(error))}\n\ndata: [DONE]\n\n`;
}

/** Finds the message wherever compatible upstreams put it; a page of HTML says nothing worth quoting. */
export function decodeError(status: number, body: string): UpstreamError {
  const parsed = parseJson(body);
  const outer = record(parsed);
  const inner = record(outer?.error);
  const header = record(outer?.header);
  const message =
    text(inner?.message) ??
    text(outer?.error) ??
    text(outer?.message) ??
    text(outer?.msg) ??
    text(outer?.detail) ??
    findings(record(outer?.message)?.detail) ??
    findings(outer?.detail) ??
    findings(inner?.detail) ??
    text(outer?.error_msg) ??
    text(header?.message);
  const code = inner?.code ?? outer?.code;
  const behind = providerWords(record(inner?.metadata)?.raw);
  const param = text(inner?.param);
  const wait = waitHint(outer);
  // Azure's reasons of a filter, OpenRouter's provider.
  const detail = inner?.innererror ?? inner?.metadata;
  return {
    status,
    type: text(inner?.type) ?? text(outer?.type),
    code: typeof code === 'number' ? String(code) : text(code),
    message: (message ?? `bad response status code ${status}`) + (behind === null ? '' : `: ${behind}`),
    ...(param === null ? {} : { param }),
    ...(record(detail) === null ? {} : { detail: JSON.stringify(detail) }),
    ...(wait === null ? {} : { retryAfter: wait }),
  };
}

/** What every good answer has one of. */
const results = ['choices', 'object', 'output', 'content', 'data', 'results', 'text', 'embeddings', 'candidates'];
const good: ReadonlySet<unknown> = new Set([0, 200, '0', '200', '', 'success', 'Success']);

/**
 * Whether a body with status 200 is nothing but a code and words, as Zhipu and Alibaba tell an error, or an object that is
 * called one. Source: `ErrorResponse` in vllm/entrypoints/openai/protocol.py up to 0.10, which FastChat and LMDeploy share.
 */
export function isBareError(body: Json): boolean {
  if (text(body.message) === null && text(body.msg) === null) return false;
  if (body.object === 'error') return true;
  const { code } = body;
  const isStated =
    body.success === false || ((typeof code === 'string' || typeof code === 'number') && !good.has(code));
  return isStated && results.every((member) => body[member] === undefined || body[member] === null);
}

/** MiniMax’s errors, which come beside empty members of an answer. @returns null = all is well. */
export function baseError(body: Json): UpstreamError | null {
  const stated = record(body.base_resp);
  const code = stated?.status_code;
  if (typeof code !== 'number' || code === 0) return null;
  return { status: null, type: 'base_resp', code: String(code), message: text(stated?.status_msg) ?? 'refused' };
}

/** An aggregator's own message says no more than that a provider failed; what the provider said stands beside it. */
function providerWords(raw: unknown): string | null {
  const message = text(raw);
  if (message === null) return null;
  const body = record(parseJson(message));
  return text(record(body?.error)?.message) ?? text(body?.error) ?? text(body?.message);
}

/** Validators list what they found wrong, with its place. */
function findings(detail: unknown): string | null {
  const problems = records(detail).flatMap(({ loc, msg }) => {
    const words = text(msg);
    const place = list(loc).join('.');
    return words === null ? [] : [place === '' ? words : `${place}: ${words}`];
  });
  return problems.length === 0 ? null : problems.join('; ');
}
