import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Amount, type MoneyOptions, moneyText, parseMoney, parseNumber } from '../../server/contract/amount.ts';

const dollars: MoneyOptions = { plain: 'currency', quotaPerUnit: 500_000 };
const quota: MoneyOptions = { plain: 'quota', quotaPerUnit: 500_000 };
const outcome = (amount: Amount) =>
  amount.kind === 'value' ? amount.value : amount.kind === 'unlimited' ? 'unlimited' : amount.issue.reason;

test.each([
  ['5', 2_500_000],
  ['$5', 2_500_000],
  ['US$5', 2_500_000],
  ['5 usd', 2_500_000],
  ['5usd', 2_500_000],
  ['USD 5', 2_500_000],
  ['5 美元', 2_500_000],
  ['5.5', 2_750_000],
  ['.5', 250_000],
  ['5.', 2_500_000],
  ['1,000', 500_000_000],
  ['1.000', 500_000],
  ['$1,234.56', 617_280_000],
  ['1e3', 500_000_000],
  ['1k', 500_000_000],
  ['1.5m usd', 750_000_000_000],
  ['1万', 5_000_000_000],
  ['＄５．５０', 2_750_000],
  ['１，０００', 500_000_000],
  ['500000 quota', 500_000],
  ['500000额度', 500_000],
  ['0', 0],
  ['0.000002', 1],
  ['  7  ', 3_500_000],
])('an amount in dollars: %s', (text, expected) => {
  expect(outcome(parseMoney(text, dollars))).toBe(expected);
});

test.each([
  ['', 'empty'],
  ['  ', 'empty'],
  ['abc', 'unreadable'],
  ['NaN', 'unreadable'],
  ['Infinity', 'unreadable'],
  ['0x10', 'unreadable'],
  ['5 5usd usd', 'unreadable'],
  ['$5usd', 'unreadable'],
  ['5foo', 'unreadable'],
  ['5e', 'unreadable'],
  ['--5', 'unreadable'],
  ['1e999', 'unreadable'],
  ['-', 'unreadable'],
  ['.', 'unreadable'],
  ['1,00', 'separators'],
  ['5,5', 'separators'],
  ['1,0000', 'separators'],
  ['1.000.000', 'separators'],
  ['1.000,5', 'separators'],
  ['1,000 000', 'separators'],
  [',000', 'unreadable'],
  ['1,,000', 'separators'],
  ['-5', 'negative'],
  ['$-5', 'negative'],
  ['−5', 'negative'],
  ['¥5', 'currency'],
  ['￥5', 'currency'],
  ['5元', 'currency'],
  ['5 EUR', 'currency'],
  ['0.0000001', 'step'],
  ['0.333333', 'step'],
  ['unlimited', 'unlimited'],
  ['不限', 'unlimited'],
  ['9e30', 'bounds'],
  ['5.5 quota', 'fraction'],
])('an amount in dollars that is refused: %s', (text, reason) => {
  const rejected = parseMoney(text, dollars);
  expect(outcome(rejected)).toBe(reason);
  const { zh, en } = rejected.kind === 'invalid' ? rejected.issue : { zh: '', en: '' };
  // What was typed is quoted in both.
  expect(zh.replace(/“.*”/, '')).toMatch(/\p{Script=Han}/u);
  expect(en.replace(/".*"/, '')).toMatch(/^[^\p{Script=Han}]+$/u);
});

test.each([
  ['500000', 500_000],
  ['1,000,000', 1_000_000],
  ['1 000 000', 1_000_000],
  ['1\u202f000\u00a0000', 1_000_000],
  ['1_000_000', 1_000_000],
  ["1'000'000", 1_000_000],
  ['1e6', 1_000_000],
  ['1.0M', 1_000_000],
  ['10.5k', 10_500],
  ['$5', 2_500_000],
  ['5usd', 2_500_000],
  ['5.5', 'fraction'],
  ['-1', 'negative'],
])('an amount where a plain number is quota: %s', (text, expected) => {
  expect(outcome(parseMoney(text, quota))).toBe(expected);
});

test('yen and yuan share a sign: the caller says which currency is meant', () => {
  expect(parseMoney('¥5', { ...dollars, currency: 'cny', quotaPerUnit: 100 })).toEqual({ kind: 'value', value: 500 });
  expect(parseMoney('¥5', { ...dollars, currency: 'jpy', quotaPerUnit: 1 })).toEqual({ kind: 'value', value: 5 });
  expect(outcome(parseMoney('$5', { ...dollars, currency: 'cny', quotaPerUnit: 100 }))).toBe('currency');
});

test('"unlimited" is an answer only where the caller takes it, and the bounds are said in the unit that was typed', () => {
  expect(parseMoney('Unlimited', { ...dollars, unlimited: true })).toEqual({ kind: 'unlimited' });
  expect(parseMoney('不限', { ...dollars, unlimited: true })).toEqual({ kind: 'unlimited' });
  expect(parseMoney('0', { ...dollars, min: 1, unlimited: true })).toMatchObject({
    issue: { reason: 'bounds', en: 'must be at least 0.000002 USD', zh: '不能小于 0.000002 USD' },
  });
  expect(parseMoney('2e6', { ...quota, max: 1_000_000 })).toMatchObject({
    issue: { en: 'must be at most 1,000,000' },
  });
  expect(parseMoney('-5usd', { ...quota, min: -5_000_000 })).toEqual({ kind: 'value', value: -2_500_000 });
});

test.each([
  ['60', {}, 60],
  ['1,000', { integer: true }, 1000],
  ['1.000', { integer: true }, 1],
  ['1e6', { integer: true }, 1_000_000],
  ['100k', { integer: true }, 100_000],
  ['１２', { integer: true }, 12],
  ['-5', { min: -10 }, -5],
  ['0.1', {}, 0.1],
  ['0.000001', { maxDecimals: 6 }, 0.000001],
  ['$2.5', { currency: 'usd' }, 2.5],
  ['unlimited', { unlimited: true }, 'unlimited'],
  ['12.7', { integer: true }, 'fraction'],
  ['0.0000001', { maxDecimals: 6 }, 'fraction'],
  ['-5', {}, 'negative'],
  ['', {}, 'empty'],
  ['NaN', {}, 'unreadable'],
  ['1,00', {}, 'separators'],
  ['5usd', {}, 'no_currency'],
  ['¥5', { currency: 'usd' }, 'currency'],
  ['unlimited', {}, 'unlimited'],
  ['0', { min: 1 }, 'bounds'],
  ['101', { max: 100 }, 'bounds'],
  ['9007199254740993', {}, 'bounds'],
])('a number: %s %o', (text, terms, expected) => {
  expect(outcome(parseNumber(text, terms))).toBe(expected);
});

test('every amount that a field starts with reads back as the same quota', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1_000_000_000_000_000, max: 1_000_000_000_000_000 }),
      fc.oneof(fc.constantFrom(1, 100, 500_000, 300_000, 1_000_000_000, 1.5), fc.integer({ min: 1, max: 10_000_000 })),
      fc.constantFrom('currency' as const, 'quota' as const),
      (held, quotaPerUnit, plain) => {
        const terms = { plain, quotaPerUnit, min: -1_000_000_000_000_000 };
        expect(parseMoney(moneyText(held, terms), terms)).toEqual({ kind: 'value', value: held });
      },
    ),
  );
});
