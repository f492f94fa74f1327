import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { SseSplitter } from '../../server/protocols/shared/sse.ts';

const encoder = new TextEncoder();
const pieces = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
};

const read = (chunks: readonly Uint8Array[]) => {
  const splitter = new SseSplitter();
  const frames = chunks.flatMap((chunk) => splitter.push(chunk));
  return {
    frames: frames.map((frame) => ({ event: frame.event, data: frame.data, text: frame.text })),
    rest: splitter.end(),
  };
};

test.each([
  ['lf', 'data: a\n\ndata: b\n\n', ['a', 'b']],
  ['crlf', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
  ['cr', 'data: a\r\rdata: b\r\r', ['a']],
  ['many lines', 'data: a\ndata: b\n\n', ['a\nb']],
  ['comment', ': ping\n\ndata: a\n\n', ['', 'a']],
  ['no space', 'data:a\n\n', ['a']],
  ['byte order mark', '\ufeffdata: a\n\n', ['a']],
])('%s', (_name, text, data) => {
  expect(read([encoder.encode(text)]).frames.map((frame) => frame.data)).toEqual(data);
});

test('however a stream is cut, the frames and every byte are the same', () => {
  const frame = fc
    .tuple(
      fc.constantFrom('data: 你好', ': 注释', 'event: x\ndata: {"a":1}', 'id: 7\r\ndata: é'),
      fc.constantFrom('\n\n', '\r\n\r\n'),
    )
    .map(([a, b]) => a + b);
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      fc.string({ maxLength: 10 }),
      (frames, cuts, tail) => {
        const bytes = encoder.encode(frames.join('') + tail.replace(/[\r\n]/g, ''));
        const whole = read([bytes]);
        const cut = read(pieces(bytes, cuts));
        expect(cut.frames).toEqual(whole.frames);
        expect(Buffer.concat([...cut.frames.map((one) => Buffer.from(one.text)), cut.rest])).toEqual(
          Buffer.from(bytes),
        );
      },
    ),
    { numRuns: 500 },
  );
});

test('a frame without end is refused, not kept for ever', () => {
  const splitter = new SseSplitter(1000);
  expect(() => {
    for (let i = 0; i < 100; i++) splitter.push(encoder.encode('x'.repeat(100)));
  }).toThrow(AppError);
});

test('without another limit a frame may have 16 MiB', () => {
  const maxLength = 16 * 1024 * 1024;
  expect(new SseSplitter().push(new Uint8Array(maxLength))).toEqual([]);
  expect(() => new SseSplitter().push(new Uint8Array(maxLength + 1))).toThrow(AppError);
});

test('events separated by one newline are split at the first that has data, however the stream is cut', () => {
  const bytes = new TextEncoder().encode(': hello\n\ndata: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n');
  const dataOf = (size: number): string[] => {
    const splitter = new SseSplitter();
    const frames = [];
    for (let at = 0; at < bytes.length; at += size) frames.push(...splitter.push(bytes.slice(at, at + size)));
    return frames.map((frame) => frame.data);
  };
  const whole = dataOf(bytes.length);
  expect(whole).toEqual(['', '{"a":1}', '{"b":2}', '[DONE]']);
  for (let size = 1; size < bytes.length; size++) expect([size, dataOf(size)]).toEqual([size, whole]);
});
