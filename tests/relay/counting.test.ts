import { countTokens as encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { countTokens } from '../../server/relay/admission/counting/count.ts';
import { encodingFor } from '../../server/relay/admission/counting/encodings.ts';
import { DeliveredTextTally } from '../../server/relay/shared/delivered-text.ts';
import { randomOf } from '../support/random.ts';

const count = (text: string): number => countTokens((chunk) => encode(chunk, { allowedSpecial: 'all' }), text);
const sentence = 'The quick brown fox jumps over the lazy dog, and 42 other animals.\n';
const timed = <T>(work: () => T): { readonly ms: number; readonly value: T } => {
  const started = performance.now();
  const value = work();
  return { ms: performance.now() - started, value };
};
const random = randomOf(7);
const letters = 'abcdefghijklmnopqrstuvwxyz';
const chinese = '床前明月光，疑是地上霜。举头望明月，低头思故乡。';

test.each([
  ['words', sentence.repeat(3000)],
  ['characters', chinese.repeat(300)],
  ['code', 'const answer = { ok: true, list: [1, 2, 3] };\n\t\treturn answer;\n'.repeat(2000)],
  ['nothing', ''],
])('%s are counted as the encoding counts them', (_name, text) => {
  const exact = encode(text, { allowedSpecial: 'all' });
  expect(count(text)).toBeGreaterThanOrEqual(exact * 0.999);
  expect(count(text)).toBeLessThanOrEqual(exact * 1.001);
});

test('a run that is counted in pieces has no fewer tokens than whole, wherever it is cut', () => {
  const units = ['\\\\\\"', '\\"', '\n', '\t ', 'x', '水很', '()', '-=', '{"":'];
  const before = ['', '"', '":"', '{"data":"', 'ab ', '.'];
  const cheaper = units.flatMap((unit) =>
    before.flatMap((words) =>
      [129, 257, 1000].flatMap((length) => {
        const text = `${words}${unit.repeat(Math.ceil(length / unit.length))}"}`;
        const whole = encode(text, { allowedSpecial: 'all' });
        return count(text) < whole ? [[unit, words, length, whole, count(text)]] : [];
      }),
    ),
  );
  expect(cheaper).toEqual([]);
});

test('a special mark in a prompt is the words it is written with', async () => {
  const counted = (await encodingFor('gpt-4o'))('<|endoftext|> is a word here');
  expect(counted).toBeGreaterThan(encode('<|endoftext|> is a word here', { allowedSpecial: 'all' }));
  expect(counted).toBe(encode('<|endoftext|> is a word here', { disallowedSpecial: new Set() }));
});

/** What grows with the square of a text takes hours; a busy machine makes seconds of a few hundred milliseconds. */

test.each([
  ['one word of a million letters', 'x'.repeat(1_000_000)],
  ['a million blanks', ' '.repeat(1_000_000)],
  ['a million marks', '!'.repeat(1_000_000)],
  ['a million characters without a stop', '汉字'.repeat(500_000)],
  ['letters in any order', Array.from({ length: 300_000 }, () => letters[Math.floor(random() * 26)]).join('')],
  ['letters and digits', 'iVBORw0KGgo'.repeat(90_000)],
])('%s are counted soon', (_name, text) => {
  // Prose of the same length, measured beside it: what grows with the square of a word takes thousands of times as long.
  const fallback = timed(() => count(sentence.repeat(Math.ceil(text.length / sentence.length))));
  const { ms, value: tokens } = timed(() => count(text));
  expect(ms).toBeLessThan(1000 * fallback.ms);
  expect(tokens).toBeGreaterThan(text.length / 200);
});

test('a text longer than any model reads is counted by its beginning', () => {
  const text = sentence.repeat(200_000);
  const { ms, value: tokens } = timed(() => count(text));
  expect(ms).toBeLessThan(1000 * timed(() => count(text.slice(0, 1_000_000))).ms);
  const each = encode(sentence);
  expect(tokens / (each * 200_000)).toBeGreaterThan(0.99);
  expect(tokens / (each * 200_000)).toBeLessThan(1.01);
});

test('blanks in front of what is too long make the words behind them no cheaper', () => {
  const words = sentence.repeat(40_000);
  expect(count(' '.repeat(4 * 1024 * 1024) + words)).toBeGreaterThan(words.length / 6);
});

test('words on their way are kept to a limit and measured beyond', () => {
  const tally = new DeliveredTextTally();
  for (let n = 0; n < 1000; n++) tally.add('x'.repeat(16 * 1024));
  expect(tally.units).toBe(1000 * 16 * 1024);
  expect(tally.texts.join('').length).toBeLessThan(3 * 1024 * 1024);
});
