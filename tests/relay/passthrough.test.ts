/** A stream in the client's own dialect: runs of frames that need no reading pass as one piece, and what is learnt of the stream is the same. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { SseSplitter } from '../../server/protocols/shared/sse.ts';
import { PassthroughRelay, type Piece, unreadLimit } from '../../server/relay/upstream/frame-relay.ts';
import { fixtures } from '../protocols/fixtures.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { encoder, streamOf } from '../protocols/support.ts';
import { often } from '../support/often.ts';
import { passingStream, responseStream } from '../support/response-stream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const dialects = Object.keys(codecs) as ProtocolId[];

const bytesOf = (chunk: Piece | null): Uint8Array =>
  typeof chunk === 'string' ? encoder.encode(chunk) : (chunk ?? new Uint8Array(0));

/** @param unread runs pass as far as they may; else each frame is looked at. */
function relayed(id: ProtocolId, chunks: readonly Uint8Array[], unread: boolean) {
  const relay = new PassthroughRelay(codecs[id].upstream, true, () => 1);
  const splitter = new SseSplitter();
  const out: Uint8Array[] = [];
  let passed = 0;
  /** Of each frame that says so: it is the last, it waits for the bill, the bill is whole. */
  const states: string[] = [];
  for (const chunk of chunks) {
    const run = splitter.advance(chunk);
    const count = unread ? relay.passUnread(run) : 0;
    passed += count;
    if (count > 0) out.push(run.head(count));
    for (const frame of run.from(count).frames()) {
      out.push(bytesOf(relay.pass(frame)));
      const state = [relay.isLast ? 'last' : '', relay.awaitsBill ? 'waits' : '', relay.billed ? 'billed' : ''];
      states.push(state.join(' ').trim());
      if (relay.isLast || relay.error !== null) break;
    }
    if (relay.isLast || relay.error !== null) break;
  }
  const last = relay.isLast;
  if (!last && relay.error === null) out.push(bytesOf(relay.close(splitter.end())));
  const { texts, choices, units, thoughtUnits, audioSeconds, calls } = relay.words();
  return {
    passed,
    states: states.filter((state) => state !== ''),
    learnt: {
      out: Buffer.concat(out).toString('utf8'),
      last,
      usage: relay.usage,
      finish: relay.finish(),
      error: relay.error,
      billed: relay.billed,
      saidSince: relay.deliveredSinceUsage(),
      responseId: relay.responseId,
      thinking: relay.thought,
      words: { said: texts.join(''), choices, units, thoughtUnits, spokenSeconds: audioSeconds, calls },
    },
  };
}

const cut = (bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] => {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.slice(from, sorted[index] ?? bytes.length));
};

/** Of two choices one ends, with what was counted so far, while the other goes on. */
const choice = (index: number, content: string, finish: string | null, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index, delta: { content }, finish_reason: finish }], ...more })}\n\n`;
const counted = (tokens: number) => ({
  usage: { prompt_tokens: 9, completion_tokens: tokens, total_tokens: 9 + tokens },
});
const twoChoices = [
  choice(0, 'a', null),
  choice(1, 'b', null),
  choice(0, '', 'stop', counted(2)),
  choice(1, 'c', null),
  choice(1, '', 'stop'),
  `data: ${JSON.stringify({ id: 'c', choices: [], ...counted(3) })}\n\n`,
  'data: [DONE]\n\n',
].join('');

const streamsOf = (id: ProtocolId): readonly Uint8Array[] => [
  ...Object.values(scenarios).map((events) => encoder.encode(streamOf(codecs[id], events))),
  ...(id === 'openai-chat' ? [encoder.encode(twoChoices)] : []),
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
      expect(found.states).toEqual(expected.states);
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

test('frames that were not read are counted in order at the first question, and again from there on', () => {
  const relay = new PassthroughRelay(codecs['openai-chat'].upstream, false, () => 1);
  const splitter = new SseSplitter();
  const frame = (content: string) =>
    encoder.encode(`data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\r\n\r\n`);
  for (const one of splitter.push(frame('one '))) relay.pass(one);
  for (const word of ['two ', 'three ']) expect(relay.passUnread(splitter.advance(frame(word)))).toBe(1);
  expect(relay.words().texts).toEqual(['one ', 'two ', 'three ']);
  expect(relay.passUnread(splitter.advance(frame('four')))).toBe(1);
  expect(relay.unreadBytes > unreadLimit).toBe(false);
  expect(relay.passUnread(splitter.advance(frame('x'.repeat(20_000))))).toBe(1);
  expect(relay.unreadBytes > unreadLimit).toBe(true);
  expect(relay.words().units).toBe('one two three four'.length + 20_000);
  expect(relay.unreadBytes > unreadLimit).toBe(false);
});

test('text behind the end of one choice is read: usage reported with that end was not the whole bill', () => {
  const bytes = encoder.encode(twoChoices);
  const frames = twoChoices.split('\n\n').map((frame) => encoder.encode(`${frame}\n\n`));
  const { states, learnt } = relayed('openai-chat', frames.slice(0, -1), true);
  expect(states).toEqual(relayed('openai-chat', [bytes], false).states);
  expect(states).toEqual(['billed', 'waits', 'billed', 'last  billed']);
  expect(learnt.usage?.output).toBe(3);
});

test.each([
  ['small ones', 'three', 'four'],
  ['a large one', 'x'.repeat(5000), 'four'],
  ['a small one behind a large one', 'three', 'x'.repeat(5000)],
  ['two large ones', 'x'.repeat(5000), 'y'.repeat(6000)],
])('words of frames that did not go out are taken back, of %s', (_, third, fourth) => {
  const relay = new PassthroughRelay(codecs['openai-chat'].upstream, false, () => 1);
  const splitter = new SseSplitter();
  for (const one of splitter.push(encoder.encode(choice(0, 'one ', null)))) relay.pass(one);
  const frames = ['two ', third, fourth].map((content) => encoder.encode(choice(0, content, null)));
  for (const frame of frames) expect(relay.passUnread(splitter.advance(frame))).toBe(1);
  const [, ...lost] = frames;
  relay.takeBackFrame(0);
  relay.takeBackFrame(lost.reduce((sum, { length }) => sum + length, 0));
  expect(relay.words().texts).toEqual(['one ', 'two ']);
  expect(relay.usage).toBe(null);
});

test('usage of a frame that did not go out is taken back, and that of earlier frames is not', () => {
  const relay = new PassthroughRelay(codecs['openai-chat'].upstream, false, () => 1);
  const splitter = new SseSplitter();
  const usageOf = (output: number) =>
    `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":${output},"total_tokens":${output + 1}}}\n\n`;
  const passAll = (text: string) => {
    for (const one of splitter.push(encoder.encode(text))) relay.pass(one);
  };
  passAll(choice(0, 'one ', null) + usageOf(1));
  passAll(choice(0, '', 'stop') + usageOf(9));
  expect([relay.usage?.output, relay.billed]).toEqual([9, true]);
  relay.takeBackFrame(usageOf(9).length);
  expect([relay.usage?.output, relay.billed]).toEqual([1, false]);
  relay.takeBackWaiting(0, 0);
  expect(relay.usage).toBe(null);
});

test('a last event without its blank line is counted too', () => {
  const relay = new PassthroughRelay(codecs['openai-chat'].upstream, false, () => 1);
  const splitter = new SseSplitter();
  for (const one of splitter.push(encoder.encode(choice(0, 'one ', null)))) relay.pass(one);
  expect(
    relay.passUnread(splitter.advance(encoder.encode(`${choice(0, 'two ', null)}${choice(0, 'three', null).trim()}`))),
  ).toBe(1);
  expect(relay.close(splitter.end())).not.toBe(null);
  expect(relay.words().texts).toEqual(['one ', 'two ', 'three']);
});

const chunkOf = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;

test('frames that need no reading go out as one piece and are counted one by one for recovery', async () => {
  const chunk = `${chunkOf('b')}${chunkOf('c')}: ping\n\n${chunkOf('d').slice(0, 9)}`;
  const written: string[] = [];
  const counted: number[] = [];
  const opened = await passingStream(chunkOf('a'), [chunk, `${chunkOf('d').slice(9)}${chunkOf('e')}`]);
  const stream = responseStream(opened, { delivered: (frames) => void counted.push(frames) });
  void stream.pipeTo({
    write: (piece) => void written.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString()),
    flush: () => null,
    end: () => null,
  });
  await expect
    .poll(() => written)
    .toEqual([chunkOf('a'), `${chunkOf('b')}${chunkOf('c')}: ping\n\n`, `${chunkOf('d')}${chunkOf('e')}`]);
  // What was read while the stream was opened, what else came with it, and the two chunks.
  expect(counted.filter((frames) => frames > 0)).toEqual([1, 3, 2]);
});

test('a client that takes nothing holds back the finish reason that came with the words before it', async () => {
  const written: string[] = [];
  const taken = Promise.withResolvers<void>();
  const opened = await passingStream(chunkOf('a'), [`${chunkOf('b')}${chunkOf('c')}${chunkOf('', 'stop')}`]);
  const time = new VirtualTime();
  const stream = responseStream(opened, { billMs: 60_000, timers: time });
  void stream.pipeTo({
    write(chunk) {
      written.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
      return written.length === 2 ? taken.promise : null;
    },
    flush: () => null,
    end: () => null,
  });
  await expect.poll(() => written).toEqual([chunkOf('a'), chunkOf('b') + chunkOf('c')]);
  taken.resolve();
  // It waits for the bill first.
  await time.advance(59_000);
  expect(written.slice(2)).toEqual([]);
  await time.advance(2000);
  await expect.poll(() => written.slice(2)).toEqual([chunkOf('', 'stop')]);
});
