/** What a watcher must read of a stream that passes through has a marker, in every dialect. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { Markers } from '../../server/protocols/shared/markers.ts';
import { type RawFrame, SseSplitter } from '../../server/protocols/shared/sse.ts';
import { often } from '../support/often.ts';
import { fixtures } from './fixtures.ts';
import { scenarios } from './scenarios.ts';
import { encoder, streamOf } from './support.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const has = (raw: string, ...words: readonly string[]): boolean => words.some((word) => raw.includes(word));

/** Usage, an end or an error: the words that each dialect has for them, searched for one frame at a time. */
const matters: Readonly<Record<ProtocolId, (raw: string) => boolean>> = {
  'openai-chat': (raw) =>
    (has(raw, '"usage"') && !has(raw, '"usage":null')) ||
    (has(raw, 'finish_reason') && !has(raw, '"finish_reason":null')) ||
    has(raw, '"error"'),
  'openai-responses': (raw) =>
    has(raw, 'response.completed', 'response.incomplete', 'response.failed', '"error"', 'response.created'),
  'anthropic-messages': (raw) => !has(raw, 'content_block_') || has(raw, '"usage"'),
  'gemini-generate': (raw) => has(raw, 'finishReason', '"error"', 'blockReason'),
  'ollama-chat': (raw) => /"done"\s*:\s*true/.test(raw) || has(raw, '"error"'),
  'cohere-chat': (raw) => has(raw, 'message-end'),
};

/** Says that something is null in the other of two ways, which means the same. */
const compact = (raw: string): string => raw.replaceAll('": null', '":null');

const folder = resolve(import.meta.dirname, '../../../shared/recordings');
const recorded = existsSync(folder)
  ? [...new Bun.Glob('**/*.chunks.txt').scanSync({ cwd: folder })].map((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => `data: ${line}\n\n`)
        .join(''),
    )
  : [];

const streams = (id: ProtocolId): readonly string[] => [
  ...Object.values(scenarios).map((events) => streamOf(codecs[id], events)),
  ...fixtures.flatMap(({ dialect, stream }) =>
    dialect === id && stream !== null ? [Buffer.from(stream).toString()] : [],
  ),
];

/** @param isDamaged a frame without a marker need only say nothing of that kind. */
function check(id: ProtocolId, frames: readonly RawFrame[], isDamaged = false): void {
  const { upstream } = codecs[id];
  const { markers } = upstream;
  const reader = upstream.reader();
  for (const frame of frames) {
    const raw = frame.text;
    const events = reader.feed(frame);
    const kind = reader.frameKind ?? 'plain';
    const mustBeRead = matters[id](compact(raw)) || kind === 'terminal' || kind === 'usage-only';
    const isMarked = markers?.areIn(raw) ?? true;
    expect([raw, isMarked]).toEqual([raw, (markers?.firstIn(frame.bytes) ?? 0) >= 0]);
    if (!mustBeRead || isMarked) continue;
    // Pings and events that no dialect knows are all that Anthropic's readers could be shown for nothing.
    if (!isDamaged) expect([id, raw]).toEqual(['anthropic-messages', raw]);
    expect(events.filter(({ type }) => type === 'usage' || type === 'finish' || type === 'error')).toEqual([]);
  }
}

test.each(dialects)('%s: no frame of fixtures and recordings that must be read lacks a marker', (id) => {
  for (const stream of [...streams(id), ...recorded]) {
    const splitter = new SseSplitter();
    check(id, splitter.push(encoder.encode(stream)));
  }
});

const words = [
  '"usage":null',
  '"usage": null',
  '"usage":{"prompt_tokens":1,"completion_tokens":2}',
  '"finish_reason":null',
  '"finish_reason" : null',
  '"finish_reason":"stop"',
  '\\"finish_reason\\":null',
  '"error":{"message":"x"}',
  '"done":false',
  '"done" :true',
  '"finishReason":"STOP"',
  'message_stop',
  'event: message_stop\ndata: {}\n\n',
  'data: [DONE]\n\n',
  '[DONE]',
  ': ping\n\n',
  '你好',
  '\n\n',
];

test.each(dialects)('%s: nor does one of frames that were damaged', (id) => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...words)), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.constantFrom(...streams(id)), damage, (stream, list) => {
      const damaged = list.reduce((text, [at, word]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + word + text.slice(place);
      }, stream);
      check(id, new SseSplitter().push(encoder.encode(damaged)), true);
    }),
    { numRuns: Math.ceil(1000 * often(0.25, 1, 'FUZZ_FACTOR')) },
  );
});

/** Errors in the middle of a stream, as upstreams tell them. */
const errors: readonly (readonly [ProtocolId, object])[] = [
  ['openai-chat', { error: { message: 'x', code: 'y' } }],
  ['openai-chat', { object: 'error', message: 'x', type: 'y', code: 500 }],
  ['openai-chat', { object: 'error', message: 'x', type: 'y', param: null }],
  ['openai-chat', { code: 'InvalidParameter', message: 'x' }],
  ['openai-chat', { code: 1301, msg: 'x', success: false }],
  ['openai-chat', { base_resp: { status_code: 1004, status_msg: 'x' } }],
  ['openai-chat', { x_groq: { error: 'x' } }],
  ['openai-responses', { type: 'error', error: { message: 'x' } }],
  ['openai-responses', { type: 'error', message: 'x', code: 'y' }],
  ['anthropic-messages', { type: 'error', error: { type: 'overloaded_error', message: 'x' } }],
  ['gemini-generate', { error: { code: 500, message: 'x', status: 'INTERNAL' } }],
  ['ollama-chat', { error: 'x' }],
];

test.each(errors)('%s: an error has a marker in each of its forms: %j', (id, body) => {
  const { upstream } = codecs[id];
  const raw = id === 'ollama-chat' ? `${JSON.stringify(body)}\n` : `data: ${JSON.stringify(body)}\n\n`;
  const bytes = encoder.encode(raw);
  const frames =
    (id === 'ollama-chat' ? upstream.framing?.('application/x-ndjson', true) : null)?.advance(bytes).frames() ??
    new SseSplitter().push(bytes);
  const reader = upstream.reader();
  expect(frames.flatMap((frame) => reader.feed(frame)).map(({ type }) => type)).toContain('error');
  expect(
    frames.map(({ text, bytes }) => [upstream.markers?.areIn(text), upstream.markers?.firstIn(bytes) !== -1]),
  ).toEqual([[true, true]]);
});

test('the first marker is found, whichever it is and whatever stands in front of it', () => {
  const markers = new Markers([{ word: 'end', unless: [':no', ': no'] }, { word: '"bad"' }]);
  const first = (text: string) => markers.firstIn(encoder.encode(text));
  expect([first(''), first('end:no end: no'), first('end:no end'), first('"bad" end'), first('end "bad"')]).toEqual([
    -1, -1, 7, 0, 0,
  ]);
  // What follows it may lie outside.
  expect([first('end:n'), first('en')]).toEqual([0, -1]);
  expect([markers.areIn('end:no'), markers.areIn('end:no end;'), markers.areIn('"bad"')]).toEqual([false, true, true]);
});
