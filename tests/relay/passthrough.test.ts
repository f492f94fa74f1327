/** A stream in the client's own dialect: runs of frames that nobody has to read pass as one piece, and what is learnt of the stream is the same. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { SseSplitter } from '../../server/protocols/shared/sse.ts';
import { PassthroughRelay, type Piece } from '../../server/relay/upstream/frame-relay.ts';
import { fixtures } from '../protocols/fixtures.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { encoder, streamOf } from '../protocols/support.ts';
import { often } from '../support/often.ts';

const dialects = Object.keys(codecs) as ProtocolId[];

const bytesOf = (piece: Piece | null): Uint8Array =>
  typeof piece === 'string' ? encoder.encode(piece) : (piece ?? new Uint8Array(0));

/** @param unread runs pass as far as they may; else each frame is looked at. */
function relayed(id: ProtocolId, chunks: readonly Uint8Array[], unread: boolean) {
  const relay = new PassthroughRelay(codecs[id].upstream, true, () => 1);
  const splitter = new SseSplitter();
  const out: Uint8Array[] = [];
  let passed = 0;
  let held = '';
  for (const chunk of chunks) {
    const run = splitter.advance(chunk);
    const count = unread ? relay.passUnread(run) : 0;
    passed += count;
    if (count > 0) out.push(run.head(count));
    for (const frame of run.from(count).frames()) {
      out.push(bytesOf(relay.pass(frame)));
      held += `${relay.isLast()}${relay.awaitsBill()}${relay.billed()}`;
      if (relay.isLast() || relay.error() !== null) break;
    }
    if (relay.isLast() || relay.error() !== null) break;
  }
  const last = relay.isLast();
  if (!last && relay.error() === null) out.push(bytesOf(relay.close(splitter.end())));
  const { texts, choices, units, thoughtUnits, spokenSeconds, calls } = relay.words();
  return {
    passed,
    held: held.replaceAll('falsefalsefalse', ''),
    learnt: {
      out: Buffer.concat(out).toString('utf8'),
      last,
      usage: relay.usage(),
      finish: relay.finish(),
      error: relay.error(),
      billed: relay.billed(),
      saidSince: relay.saidSinceUsage(),
      responseId: relay.responseId(),
      thinking: relay.thinking().thought,
      words: { said: texts.join(''), choices, units, thoughtUnits, spokenSeconds, calls },
    },
  };
}

const cut = (bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] => {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.slice(from, sorted[index] ?? bytes.length));
};

const streamsOf = (id: ProtocolId): readonly Uint8Array[] => [
  ...Object.values(scenarios).map((events) => encoder.encode(streamOf(codecs[id], events))),
  ...fixtures.flatMap(({ dialect, stream }) =>
    dialect === id && stream !== null ? [new Uint8Array(Buffer.from(stream))] : [],
  ),
];

test.each(dialects)('%s: however a stream is cut, also within a marker, the same is learnt of it', (id) => {
  const streams = streamsOf(id);
  fc.assert(
    fc.property(fc.constantFrom(...streams), fc.array(fc.nat(), { maxLength: 12 }), (bytes, places) => {
      const expected = relayed(id, [bytes], false);
      const found = relayed(id, cut(bytes, places), true);
      expect(found.learnt).toEqual(expected.learnt);
      expect(found.held).toBe(expected.held);
    }),
    { numRuns: Math.ceil(1000 * often(0.25, 1, 'FUZZ_FACTOR')) },
  );
});

test('the words between the first and the finish reason are passed without a look at each frame', () => {
  const frame = (content: string | null, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }], usage: null })}\n\n`;
  const stream = encoder.encode(
    `${frame('a')}${Array.from({ length: 50 }, (_, n) => frame(`word ${n} `)).join('')}${frame(null, 'stop')}data: [DONE]\n\n`,
  );
  const first = encoder.encode(frame('a')).length;
  const { passed, learnt } = relayed('openai-chat', [stream.subarray(0, first), stream.subarray(first)], true);
  expect(passed).toBe(50);
  expect(learnt).toEqual(relayed('openai-chat', [stream], false).learnt);
  // For each byte at which the finish reason can be cut in two.
  for (let at = first + 1; at < stream.length; at++) {
    const found = relayed(
      'openai-chat',
      [stream.subarray(0, first), stream.subarray(first, at), stream.subarray(at)],
      true,
    );
    if (found.learnt.finish?.reason.raw !== 'stop' || found.passed < 49) expect([at, found]).toEqual([at, 'stop']);
  }
});

test('frames that were not read are counted in order when somebody asks, and again from there on', () => {
  const relay = new PassthroughRelay(codecs['openai-chat'].upstream, false, () => 1);
  const splitter = new SseSplitter();
  const frame = (content: string) =>
    encoder.encode(`data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\r\n\r\n`);
  for (const one of splitter.push(frame('one '))) relay.pass(one);
  for (const word of ['two ', 'three ']) expect(relay.passUnread(splitter.advance(frame(word)))).toBe(1);
  expect(relay.words().texts).toEqual(['one ', 'two ', 'three ']);
  expect(relay.passUnread(splitter.advance(frame('four')))).toBe(1);
  expect(relay.overdue()).toBe(false);
  expect(relay.passUnread(splitter.advance(frame('x'.repeat(20_000))))).toBe(1);
  expect(relay.overdue()).toBe(true);
  expect(relay.words().units).toBe('one two three four'.length + 20_000);
  expect(relay.overdue()).toBe(false);
});
