/** What a model makes of counted tokens is learned from many answers of many users, and no caller moves it down alone. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Calibration } from '../../server/relay/admission/calibration.ts';

const model = 'claude-opus-4-5';
const learn = (known: Calibration, answers: number, users: number, ratio: number, firstUser = 1) => {
  for (let n = 0; n < answers; n++) known.learn(model, firstUser + (n % users), 1000, Math.round(1000 * ratio));
};

test('200 answers of five users are enough; one answer less, or one user less, is not', () => {
  const known = new Calibration();
  expect(known.factor(model)).toBe(1.5);
  learn(known, 199, 5, 1.1);
  expect(known.factor(model)).toBe(1.5);
  learn(known, 1, 1, 1.1, 5);
  expect(known.factor(model)).toBe(1.1);
  expect(known.factor('another')).toBe(1.5);
  const few = new Calibration();
  learn(few, 1000, 4, 1.1);
  expect(few.factor(model)).toBe(1.5);
});

test('never below the tokenizer, never above what holds where nothing is known', () => {
  for (const [ratio, factor] of [
    [0.4, 1],
    [1, 1],
    [1.37, 1.37],
    [3, 1.5],
  ] as const) {
    const known = new Calibration();
    learn(known, 300, 6, ratio);
    expect(known.factor(model)).toBe(factor);
  }
});

test('one answer in a thousand may be dearer; in 200, none', () => {
  const known = new Calibration();
  learn(known, 199, 5, 1.1);
  learn(known, 1, 1, 1.4, 9);
  expect(known.factor(model)).toBe(1.4);
  learn(known, 800, 10, 1.1, 10);
  expect(known.factor(model)).toBe(1.1);
  learn(known, 1, 1, 1.3, 30);
  expect(known.factor(model)).toBe(1.3);
});

test('prompts of a few words, reports of nothing and figures that are none teach nothing', () => {
  const known = new Calibration();
  for (let n = 0; n < 400; n++) {
    known.learn(model, n % 7, 255, 255);
    known.learn(model, n % 7, 1000, 0);
    known.learn(model, n % 7, 1000, -5);
    known.learn(model, n % 7, Number.NaN, 1000);
    known.learn(model, n % 7, 1000, Number.POSITIVE_INFINITY);
    known.learn(model, n % 7, 1000, Number.NaN);
  }
  expect(known.size).toBe(0);
  expect(known.factor(model)).toBe(1.5);
});

test('a user with ten thousand answers has his share and takes nothing from others', () => {
  const known = new Calibration();
  learn(known, 160, 4, 1.3);
  learn(known, 10_000, 1, 1, 99);
  expect(known.factor(model)).toBe(1.3);
  // His own last answers count.
  learn(known, 10_000, 1, 1.45, 99);
  expect(known.factor(model)).toBe(1.45);
});

test('many accounts of one person push nobody out', () => {
  const known = new Calibration();
  learn(known, 20, 1, 1.42, 1);
  learn(known, 20_000, 40, 1, 100);
  expect(known.factor(model)).toBe(1.42);
});

test('the last answers count: what a model did long ago is forgotten', () => {
  const known = new Calibration();
  learn(known, 300, 10, 1.4);
  learn(known, 3000, 10, 1.05);
  expect(known.factor(model)).toBe(1.05);
});

test('however many models are named, the 256 last ones are kept', () => {
  const known = new Calibration();
  learn(known, 200, 5, 1.1);
  for (let n = 0; n < 300; n++) known.learn(`model ${n}`, 1, 1000, 1000);
  expect(known.size).toBe(256);
  expect(known.factor(model)).toBe(1.5);
});

test('a writer of cheap texts alone never brings the rate below what others need, whatever the order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 100, max: 150 }), { minLength: 200, maxLength: 800 }),
      fc.nat(1000),
      fc.integer({ min: 0, max: 5000 }),
      (honest, at, cheap) => {
        const known = new Calibration();
        const lies = (count: number) => learn(known, count, 1, 0.5, 777);
        for (const [n, percent] of honest.entries()) {
          if (n === at % honest.length) lies(cheap);
          known.learn(model, n % 8, 1000, percent * 10);
        }
        lies(cheap);
        // Of at most 800 honest answers and 204 others, one may be left out.
        const [, second = 0] = honest.toSorted((a, b) => b - a);
        expect(known.factor(model)).toBeGreaterThanOrEqual(second / 100);
      },
    ),
    { numRuns: 40 },
  );
});
