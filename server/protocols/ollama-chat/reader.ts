/** Reads Ollama's answers, whole and streamed: lines of JSON with words, thoughts and whole calls; the last one has the counts. */
import type { UnifiedFinish, Usage } from '../canonical.ts';
import type { UpstreamHalf } from '../codec.ts';
import { guardedLookup, type Json, list, number, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { ndjsonFraming } from '../shared/ndjson.ts';
import { simpleWire, type WireChunk } from '../shared/simple-wire.ts';
import { usageOfTwo } from '../shared/usage.ts';
import { encodeRequest } from './encode-request.ts';

type Item = Record<string, unknown>;

const ends: Readonly<Record<string, UnifiedFinish>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content_filter',
};

const errorIn = (status: number | null, body: Item) => ({
  status,
  type: null,
  code: null,
  message:
    text(body.error) ??
    text(record(body.error)?.message) ??
    (status === null ? 'the model failed' : `bad response status code ${status}`),
});

function readChunk(body: Item): WireChunk {
  if (text(body.error) !== null) return { error: errorIn(null, body) };
  const message = record(body.message);
  const done = body.done === true;
  const reason = text(body.done_reason);
  const calls = records(message?.tool_calls).map((call) => {
    const definition = record(call.function);
    return {
      id: text(call.id),
      name: text(definition?.name) ?? '',
      arguments: JSON.stringify(definition?.arguments ?? {}),
    };
  });
  return {
    thought: text(message?.thinking),
    text: text(message?.content),
    calls,
    media: [...list(message?.images), body.image].flatMap((data) =>
      typeof data === 'string' && data !== ''
        ? [{ type: 'image', source: { kind: 'base64', data, mimeType: 'image/png' } } as const]
        : [],
    ),
    usage: countsIn(body),
    ...(done ? { end: guardedLookup(ends, reason ?? 'stop') ?? 'other', raw: reason } : {}),
  };
}

const countsIn = ({ prompt_eval_count, eval_count }: Item): Item | null =>
  prompt_eval_count === undefined && eval_count === undefined ? null : { prompt_eval_count, eval_count };

/** A prompt that was cached may go untold: then nothing of it is believed and all is counted here. */
const readUsage = (stated: Json): Usage | null =>
  number(stated.prompt_eval_count) === null ? null : usageOfTwo(stated, 'prompt_eval_count', 'eval_count');

const wire = simpleWire({
  encodeRequest,
  frame: readChunk,
  whole: (body) => ({ end: 'stop', ...readChunk(body) }),
  readUsage,
  decodeError: errorIn,
  isLast: (body) => body.done === true,
});

export const upstream: UpstreamHalf = {
  ...wire.upstream,
  /** Errors have no other mark than their member. */
  markers: new Markers([
    { word: '"done"', unless: [':false', ': false'] },
    { word: '"error"' },
    { word: 'eval_count' },
  ]),
  framing: (contentType) => (contentType.includes('ndjson') ? ndjsonFraming() : null),
};
