/** Stage 1: path and body become an inquiry; everything that is wrong with them is said here. */
import { AppError } from '../contract/errors.ts';
import type { Inquiry } from './exchange.ts';
import { outline } from './json-text.ts';
import type { RelayRoute } from './operations.ts';
import { readPrompt } from './prompt.ts';

/** Members whose doubling could make us bill one thing and the upstream serve another. */
const single = new Set(['model', 'stream', 'max_tokens', 'max_completion_tokens', 'n', 'stream_options']);

export interface ParseContext {
  readonly requestId: string;
  readonly startedMs: number;
  /** Largest body in bytes. */
  readonly bodyLimit: number;
}

/** @throws AppError body_*, model_missing. */
export async function parse(request: Request, route: RelayRoute, context: ParseContext): Promise<Inquiry> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > context.bodyLimit) throw new AppError('body_too_large', { limit: context.bodyLimit });
  const bytes = await request.bytes();
  if (bytes.length > context.bodyLimit) throw new AppError('body_too_large', { limit: context.bodyLimit });
  const text = decode(bytes);
  const shape = outline(text);
  if (!shape.ok) {
    if (shape.reason === 'too_deep') throw new AppError('body_too_deep');
    throw new AppError('body_not_json');
  }
  const body = parseObject(text);
  const seen = new Set<string>();
  for (const { key } of shape.members) {
    if (!single.has(key)) continue;
    if (seen.has(key)) throw new AppError('body_invalid', { detail: `${key} appears twice` });
    seen.add(key);
  }
  const model = body.model ?? route.defaultModel;
  if (model === undefined || model === null || model === '') throw new AppError('model_missing');
  if (typeof model !== 'string') throw new AppError('body_invalid', { detail: 'model must be a string' });
  if (body.stream !== undefined && body.stream !== null && typeof body.stream !== 'boolean') {
    throw new AppError('body_invalid', { detail: 'stream must be true or false' });
  }
  return {
    requestId: context.requestId,
    startedMs: context.startedMs,
    protocol: route.protocol,
    operation: route.operation,
    model,
    stream: body.stream === true,
    bytes,
    text,
    shape,
    body,
    prompt: readPrompt(body),
    request,
  };
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch (cause) {
    throw new AppError('body_not_utf8', {}, cause);
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new AppError('body_not_json', {}, cause);
  }
}
