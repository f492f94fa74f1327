/** Reads an upstream's whole answer and translates it into the client's dialect, streamed or not. */

import { rethrowOutOfMemory } from '../../contract/own-shortage.ts';
import { completionTokensOf } from '../../contract/pricing/charge.ts';
import type { ChatEvent, UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { UpstreamHalf } from '../../protocols/codec.ts';
import { baseError, isBareError } from '../../protocols/openai-chat/errors.ts';
import { parseExact, parseJson, record } from '../../protocols/shared/json.ts';
import type { Deadlines } from '../shared/deadline.ts';
import { isOurs, readChunk } from '../shared/defect.ts';

/** Whole answers larger than this are refused; streams have no limit. */
const wholeAnswerLimit = 64 * 1024 * 1024;

/** So much arrives in one go. */
const smallAnswer = 256 * 1024;

/**
 * @param idleMs without a byte, after which the call is aborted.
 * @returns null when the upstream broke off, fell silent or sent too much.
 */
export function readWhole(
  response: Response,
  idleMs: number,
  abort: AbortController,
  deadlines: Deadlines,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const declared = Number(response.headers.get('content-length') ?? Number.NaN);
  const read = declared <= smallAnswer ? readAtOnce : readInPieces;
  return read(response, idleMs, abort, deadlines);
}

async function readAtOnce(
  response: Response,
  idleMs: number,
  abort: AbortController,
  deadlines: Deadlines,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const silence = deadlines.start(idleMs, () => abort.abort());
  try {
    return await response.bytes();
  } catch (error) {
    // It broke off.
    rethrowOutOfMemory(error);
    return null;
  } finally {
    silence.end();
  }
}

async function readInPieces(
  response: Response,
  idleMs: number,
  abort: AbortController,
  deadlines: Deadlines,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const silence = deadlines.start(idleMs, () => abort.abort());
  try {
    if (response.body === null) return null;
    const reader = response.body.getReader();
    const chunks: Uint8Array[] = [];
    for (let size = 0; ; ) {
      const { done, value } = await readChunk(reader);
      if (done) return new Uint8Array(Buffer.concat(chunks));
      silence.restart(idleMs);
      size += value.length;
      if (size > wholeAnswerLimit) {
        void reader.cancel().catch(() => undefined);
        return null;
      }
      chunks.push(value);
    }
  } catch (error) {
    if (isOurs(error)) throw error;
    return null;
  } finally {
    silence.end();
  }
}

const lenient = new TextDecoder();

/** @param exact it is translated: numbers keep their digits. @returns undefined when it is no JSON. */
export function parseBody(bytes: Uint8Array<ArrayBuffer>, exact = false): unknown {
  const text = lenient.decode(bytes);
  return exact ? parseExact(text) : parseJson(text);
}

/** An error that came with status 200, as some upstreams send it. @param ownWire the upstream has its own error format. */
export function errorIn(upstream: UpstreamHalf, body: unknown, ownWire: boolean): UpstreamError | null {
  if (ownWire) {
    const found = upstream.decodeResponse(body).find((event) => event.type === 'error');
    return found?.type === 'error' ? found.error : null;
  }
  const answer = record(body);
  if (answer === null) return null;
  const base = answer.base_resp === undefined ? null : baseError(answer);
  if (base !== null) return base;
  const { error } = answer;
  if ((error === undefined || error === null || error === false) && !isBareError(answer)) return null;
  return upstream.decodeError(200, JSON.stringify(body));
}

/**
 * Finds what keeps a response from being complete: an error, or a finish reason by which the model reports a failure.
 * It is not marked for a retry, so that its message reaches the client as those about a mistake do.
 */
export function failureIn(event: ChatEvent): UpstreamError | null {
  if (event.type === 'error') return event.error;
  if (event.type !== 'finish' || event.reason.unified !== 'error') return null;
  const { raw, message } = event.reason;
  return {
    status: message === undefined ? null : 422,
    type: raw,
    code: raw,
    message: message ?? `it ended with ${raw}`,
  };
}

/** A complete response without content. Its reported cost is charged, so a response with a cost is delivered as it is. */
export function isEmpty(events: readonly ChatEvent[], usage: Usage | null): boolean {
  if (usage !== null && completionTokensOf(usage) > 0) return false;
  let finish: string | null = null;
  for (const event of events) {
    switch (event.type) {
      case 'finish':
        finish = event.reason.unified;
        break;
      case 'response-start':
      case 'usage':
      case 'omitted':
      case 'text-start':
      case 'text-end':
      case 'error':
        break;
      default:
        return false;
    }
  }
  return finish === null || (usage === null && (finish === 'stop' || finish === 'other'));
}

/** Puts reasoning into the text between `<think>` marks, for clients that know no other place. */
export function thinkingToContent(): (event: ChatEvent) => readonly ChatEvent[] {
  // Index of the text block that holds the thoughts; later blocks keep theirs.
  return (event) => {
    switch (event.type) {
      case 'reasoning-start':
        return [
          { type: 'text-start', index: event.index },
          { type: 'text-delta', index: event.index, text: '<think>\n' },
        ];
      case 'reasoning-delta':
        return [{ type: 'text-delta', index: event.index, text: event.text }];
      case 'reasoning-end':
        return [
          { type: 'text-delta', index: event.index, text: '\n</think>\n' },
          { type: 'text-end', index: event.index },
        ];
      default:
        return [event];
    }
  };
}
