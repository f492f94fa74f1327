import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { ndjsonFraming } from '../../server/protocols/shared/ndjson.ts';

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const textOf = (left: Uint8Array) => Buffer.from(left).toString('utf8');

test('lines come out as they went in, wherever the chunks are cut; the rest is delivered as an event', () => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text));
  fc.assert(
    fc.property(
      fc.array(line),
      fc.option(line, { nil: '' }),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (lines, rest, cuts) => {
        const whole = bytes(lines.map((one) => `${one}\n`).join('') + rest);
        const framing = ndjsonFraming();
        const received: string[] = [];
        for (let at = 0, n = 0; at < whole.length; n++) {
          const next = at + (cuts[n % cuts.length] ?? 1);
          for (const frame of framing.advance(whole.slice(at, next)).frames()) {
            const event = `data: ${frame.data}\n\n`;
            expect([frame.event, frame.text, textOf(frame.bytes)]).toEqual(['', event, event]);
            received.push(frame.data);
          }
          at = next;
        }
        expect(received).toEqual(lines);
        expect(textOf(framing.end())).toBe(rest === '' ? '' : `data: ${rest}`);
      },
    ),
    { numRuns: 200 },
  );
});

test('empty lines are nothing, a line without end is refused at 16 MiB', () => {
  const framing = ndjsonFraming();
  expect(
    framing
      .advance(bytes('\n\n{"a":1}\n\n'))
      .frames()
      .map((frame) => frame.data),
  ).toEqual(['{"a":1}']);
  const mebibyte = new Uint8Array(1 << 20).fill(120);
  for (let n = 0; n < 16; n++) framing.advance(mebibyte);
  expect(() => framing.advance(bytes('x'))).toThrow(AppError);
});
