/** Reads Ollama's answers, whole and streamed: lines of JSON with words, thoughts and whole calls; the last one has the counts. */
import type { UnifiedFinish } from '../canonical.ts';
import type { UpstreamHalf } from '../codec.ts';
import { guardedLookup, number, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { ndjsonFraming } from '../shared/ndjson.ts';
import { simpleWire, type WireChunk } from '../shared/simple-wire.ts';
import { emptyUsage, tokenCounts } from '../shared/usage.ts';
import { encodeRequest } from './encode-request.ts';

type Item = Record<string, unknown>;

const ends: Readonly<Record<string, UnifiedFinish>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content_filter',
};

export const errorIn = (status: number | null, body: Item) => ({
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
    ...(done ? { usage: usageIn(body), end: guardedLookup(ends, reason ?? 'stop') ?? 'other', raw: reason } : {}),
  };
}

/** A prompt that was cached may go untold: then nothing of it is believed and all is counted here. */
function usageIn(body: Item) {
  const counts = tokenCounts([body.prompt_eval_count, body.eval_count]);
  if (counts === null || number(body.prompt_eval_count) === null || counts[0] + counts[1] === 0) return null;
  const { prompt_eval_count, eval_count } = body;
  return { ...emptyUsage, input: counts[0], output: counts[1], raw: { prompt_eval_count, eval_count } };
}

const wire = simpleWire({
  encodeRequest,
  frame: readChunk,
  whole: (body) => ({ end: 'stop', ...readChunk(body) }),
  decodeError: errorIn,
  isLast: (body) => body.done === true,
});

export const upstream: UpstreamHalf = {
  ...wire.upstream,
  /** Errors have no other mark than their member. */
  markers: new Markers([{ word: '"done"', unless: [':false', ': false'] }, { word: '"error"' }]),
  framing: (contentType) => (contentType.includes('ndjson') ? ndjsonFraming() : null),
};
