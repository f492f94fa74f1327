/** What the fields of the console make of what people type: the amount that was meant, or an error; never something else. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseNumber } from '../../server/contract/amount.ts';
import type { Token } from '../../server/contract/entities.ts';
import { optionKeys } from '../../server/contract/options.ts';
import { moneyIn, moneyOf, normalizeMoney, normalizeNumber, numberIn } from '../../web/components/amount.ts';
import { budgetCountBounds, budgetMoneyBounds } from '../../web/features/budgets/budget-drawer.tsx';
import { costBounds, factorBounds } from '../../web/features/channels/advanced-fields.tsx';
import { listedPriorityBounds, priorityBounds, weightBounds } from '../../web/features/channels/channel-form.ts';
import { thresholdBounds } from '../../web/features/personal/notifications.tsx';
import { tokenBounds } from '../../web/features/playground/conversation.ts';
import { percentBounds } from '../../web/features/pricing/simulate.tsx';
import { countBounds, worthBounds } from '../../web/features/redemption/redemption-drawer.tsx';
import { completionFor, inputPrice, outputPrice, ratioOf } from '../../web/features/settings/prices/price-maps.ts';
import { priceBounds, ratioBounds } from '../../web/features/settings/prices/use-draft.ts';
import {
  displayedValue,
  numberBounds,
  optionBounds,
  shapeOf,
  storedValue,
} from '../../web/features/settings/typed-option.ts';
import { amountBounds, budgetBounds, fieldsOf, formOf, limitBounds } from '../../web/features/tokens/token-form.ts';
import { signedBounds } from '../../web/features/users/user-drawer.tsx';
import { promptBounds } from '../../web/features/virtual-models/target-form.ts';
import { transferBounds } from '../../web/features/wallet/invite.tsx';
import { topUpBounds } from '../../web/features/wallet/top-up.tsx';
import { typed, withCurrency } from './typed-amounts.ts';

const dollars = { inCurrency: true, quotaPerUnit: 500_000 } as const;
const tokens = { inCurrency: false, quotaPerUnit: 500_000 } as const;

/** Each field's own reading, and what of one it keeps. */
const money = (details: typeof dollars | typeof tokens, bounds: { readonly min?: number }, optional = false) => ({
  read: (text: string) => moneyOf(text, details, bounds),
  normalize: (text: string) => normalizeMoney(text, details, bounds),
  factor: details.inCurrency ? details.quotaPerUnit : 1,
  inQuota: !details.inCurrency,
  currency: true,
  optional,
});
const number = (bounds: Parameters<typeof parseNumber>[1], optional = false) => ({
  read: (text: string) => parseNumber(text, bounds),
  normalize: (text: string) => normalizeNumber(text, bounds ?? {}),
  factor: 1,
  inQuota: false,
  currency: bounds?.currency === 'usd',
  optional,
});
const fields = {
  'quota of a key': money(dollars, amountBounds(null, 'total')),
  'quota of a key, in tokens': money(tokens, amountBounds(null, 'total')),
  'daily and monthly limit': money(dollars, budgetBounds, true),
  'budget in money': money(dollars, budgetMoneyBounds),
  'budget in requests or tokens': number(budgetCountBounds),
  'requests, tokens, concurrency': number(limitBounds, true),
  'quota added to a user': money(dollars, signedBounds, true),
  'worth of a code': money(dollars, worthBounds),
  'number of codes': number(countBounds),
  'length of a prompt': number(promptBounds, true),
  'priority of a channel': number(priorityBounds),
  'priority of a channel, in the list': number(listedPriorityBounds),
  'weight of a channel': number(weightBounds),
  'low-balance alert': money(dollars, thresholdBounds),
  'top-up': number(topUpBounds(1, true)),
  'top-up, in tokens': number(topUpBounds(1, false)),
  'transfer of earnings': money(dollars, transferBounds(10_000_000, dollars)),
  'longest answer of the playground': number(tokenBounds, true),
  'cost of a channel, times the list': number(costBounds),
  'price factor of a channel': number(factorBounds),
  'percent of a simulation': number(percentBounds),
  price: number(priceBounds),
  ratio: number(ratioBounds),
  ...Object.fromEntries(
    optionKeys
      .filter((key) => shapeOf(key) !== 'other')
      .map((key) => [
        `option ${key}`,
        shapeOf(key) === 'money' ? money(dollars, optionBounds, true) : number(numberBounds(key), true),
      ]),
  ),
};

describe.each(Object.entries(fields))('%s', (_name, { read, normalize, factor, inQuota, currency, optional }) => {
  test.each([...typed, ...withCurrency])('%s is stored as it was meant, or refused with its reason', (text, means) => {
    const amount = read(text);
    if (amount.kind === 'invalid') {
      expect(amount.issue.zh).not.toBe('');
      expect(amount.issue.en).not.toBe('');
      // A field that is left as it was typed is corrected, not retyped.
      expect(normalize(text)).toBe(text);
      // A plain number is refused for being out of range, never for how it is written.
      if (text === '5' && factor === 1 && !optional) expect(amount.issue.reason).toBe('bounds');
      return;
    }
    expect(amount.kind).toBe('value');
    const value = amount.kind === 'value' ? amount.value : Number.NaN;
    expect(means).not.toBeNull();
    // Dollars stay dollars where the site shows tokens.
    const by = factor === 1 && inQuota && /\$|USD/.test(text) ? 500_000 : factor;
    expect(value).toBe(Math.round((means ?? Number.NaN) * by * 1e6) / 1e6 + 0);
    expect(/[$€]|USD/.test(text) && !currency).toBe(false);
    // What the field shows after it was left means the same.
    const again = read(normalize(text));
    expect(again).toEqual(amount);
  });
});

test('every field for amounts in the console is one of these', () => {
  const root = resolve(import.meta.dirname, '../../web');
  const known = [
    ...['signedBounds', 'worthBounds', 'countBounds', 'priorityBounds', 'listedPriorityBounds', 'weightBounds'],
    ...[
      'thresholdBounds',
      'priceBounds',
      'ratioBounds',
      'limitBounds',
      'budgetBounds',
      'budgetMoneyBounds',
      'budgetCountBounds',
      'amountBounds(token, spend)',
      'tokenBounds',
      'seedBounds',
      'costBounds',
      'factorBounds',
      'percentBounds',
      'secondsBounds',
      'wholeBounds',
      'promptBounds',
    ],
    ...['optionBounds', 'numberBounds(option)'],
    // One of two of these, or made by `topUpBounds` and `transferBounds`.
    ...['bounds'],
  ];
  const used = ['features', 'shell'].flatMap((folder) =>
    [...new Bun.Glob(`${folder}/**/*.tsx`).scanSync({ cwd: root })].flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      // Numbers are typed into these fields alone.
      expect([path, /type="number"|Number\.parse(?:Int|Float)\(/.test(text)]).toEqual([path, false]);
      return [...text.matchAll(/\bbounds=\{([^}]*)\}/g)].map(([, name = '']) => name);
    }),
  );
  expect(new Set(used)).toEqual(new Set(known));
});

test('prices that are typed in dollars come back as they were typed, whatever ratios they are stored as', () => {
  const prices = [
    0.03, 0.05, 0.07, 0.1, 0.14, 0.27, 0.435, 0.55, 1, 1.1, 1.23, 3, 7.5, 10, 15, 600, 0.00000123, 1234.56789012,
  ];
  for (const input of prices)
    for (const output of prices) {
      const row = { name: 'm', price: null, ratio: ratioOf(input), completion: completionFor(input, output) };
      expect([inputPrice(row.ratio), outputPrice(row)]).toEqual([input, output]);
    }
});

test('a stored amount reads back as the same', () => {
  for (const details of [dollars, tokens])
    for (const quota of [0, 1, 7, 499_999, 500_000, 4_999_123, 123_456_789_012, -100]) {
      const text = moneyIn(quota, details);
      expect(moneyOf(text, details, { min: -1000 })).toEqual({ kind: 'value', value: quota });
    }
  expect(moneyIn(2_500_000, dollars)).toBe('5.00');
  expect(moneyIn(1, dollars)).toBe('0.000002');
  expect(moneyIn(500_000_000_000, dollars)).toBe('1,000,000.00');
  expect(moneyIn(2_500_000, tokens)).toBe('2,500,000');
  expect([numberIn(1234567), numberIn(-1000), numberIn(0.25)]).toEqual(['1,234,567', '-1,000', '0.25']);
});

test('an amount is not read before the site has said what its amounts are in', () => {
  expect(moneyOf('5', null)).toMatchObject({ kind: 'invalid' });
});

describe('a key', () => {
  const token = {
    name: 'a',
    remain_quota: 4_999_123,
    unlimited_quota: false,
    expired_time: -1,
    day_budget: 2_500_000,
    month_budget: 0,
    rpm_limit: 1000,
    tpm_limit: 0,
    concurrency_limit: 0,
    model_limits: '',
    allow_ips: '',
    group: '',
  } as unknown as Token;

  test('shows its limits, and nothing where it has none', () => {
    expect(formOf(token, dollars)).toMatchObject({
      amount: '9.998246',
      spend: 'total',
      expires: '',
      limits: { day_budget: '5.00', month_budget: '', rpm_limit: '1,000', tpm_limit: '', concurrency_limit: '' },
    });
  });

  test('is sent with no limit only where the field is empty', () => {
    const form = formOf(token, dollars);
    expect(fieldsOf(form, token, dollars)).toMatchObject({ day_budget: 2_500_000, month_budget: 0, rpm_limit: 1000 });
    for (const day_budget of ['0', '$0', '-5', 'x', '0.0000001'])
      expect(() => fieldsOf({ ...form, limits: { ...form.limits, day_budget } }, token, dollars)).toThrow();
    for (const rpm_limit of ['0', '-5', '2.5', '$5'])
      expect(() => fieldsOf({ ...form, limits: { ...form.limits, rpm_limit } }, token, dollars)).toThrow();
    expect(fieldsOf({ ...form, limits: { ...form.limits, day_budget: '$5' } }, token, dollars)).toMatchObject({
      day_budget: 2_500_000,
    });
  });

  test('does not send back an amount that was not edited', () => {
    const form = formOf(token, dollars);
    expect(fieldsOf({ ...form, name: 'b' }, token, dollars)).not.toHaveProperty('remain_quota');
    expect(fieldsOf({ ...form, amount: '10' }, token, dollars)).toMatchObject({ remain_quota: 5_000_000 });
    expect(fieldsOf(formOf(null, dollars), null, dollars)).toMatchObject({ remain_quota: 500_000, expired_time: -1 });
  });

  test('has its amount in total, a day, a month or not at all', () => {
    const form = { ...formOf(null, dollars), name: 'a', amount: '$5' };
    const none = { unlimited_quota: true, day_budget: 0, month_budget: 0 };
    expect(fieldsOf({ ...form, spend: 'total' }, null, dollars)).toMatchObject({
      ...none,
      unlimited_quota: false,
      remain_quota: 2_500_000,
    });
    expect(fieldsOf({ ...form, spend: 'day' }, null, dollars)).toMatchObject({ ...none, day_budget: 2_500_000 });
    expect(fieldsOf({ ...form, spend: 'month' }, null, dollars)).toMatchObject({ ...none, month_budget: 2_500_000 });
    expect(fieldsOf({ ...form, spend: 'none', amount: 'x' }, null, dollars)).toMatchObject(none);
    for (const spend of ['total', 'day', 'month'] as const)
      expect(() => fieldsOf({ ...form, spend, amount: 'x' }, null, dollars), spend).toThrow();
    expect(() => fieldsOf({ ...form, spend: 'day', amount: '0' }, null, dollars)).toThrow();
  });

  test.each([
    [
      { unlimited_quota: false, remain_quota: 1_000_000, day_budget: 500_000, month_budget: 0 },
      'total',
      '2.00',
      '1.00',
    ],
    [{ unlimited_quota: true, remain_quota: 0, day_budget: 500_000, month_budget: 0 }, 'day', '1.00', '1.00'],
    [{ unlimited_quota: true, remain_quota: 0, day_budget: 0, month_budget: 2_500_000 }, 'month', '5.00', ''],
    [{ unlimited_quota: true, remain_quota: 0, day_budget: 0, month_budget: 0 }, 'none', '1.00', ''],
  ] as const)('that has %j opens as an amount %s and is saved as it was', (limits, spend, amount, perDay) => {
    const stored = { ...token, ...limits } as Token;
    const form = formOf(stored, dollars);
    expect([form.spend, form.amount, form.limits.day_budget]).toEqual([spend, amount, perDay]);
    const { remain_quota: _untouched, ...kept } = limits;
    expect(fieldsOf(form, stored, dollars)).toMatchObject(kept);
  });

  test('that was overdrawn can be saved as it is', () => {
    const overdrawn = { ...token, remain_quota: -250_000 } as Token;
    const form = formOf(overdrawn, dollars);
    expect(form.amount).toBe('-0.50');
    expect(moneyOf(form.amount, dollars, amountBounds(overdrawn, 'total')).kind).toBe('value');
    expect(moneyOf('-0.50', dollars, amountBounds(null, 'total')).kind).toBe('invalid');
  });

  test('that has expired keeps its time when it is saved untouched', () => {
    const old = { ...token, expired_time: 1_600_000_000 } as Token;
    const form = formOf(old, dollars);
    expect(fieldsOf(form, old, dollars)).toMatchObject({ expired_time: 1_600_000_000 });
    expect(() => fieldsOf(form, null, dollars)).toThrow('past');
  });
});

test('a setting is shown as people read it, and stored as it was', () => {
  expect(displayedValue('QuotaForNewUser', '250000', dollars)).toBe('0.50');
  expect(storedValue('QuotaForNewUser', '$1.50', dollars)).toEqual({ text: '750000' });
  expect(displayedValue('QuotaPerUnit', '500000', dollars)).toBe('500,000');
  expect(storedValue('QuotaPerUnit', '500,000', dollars)).toEqual({ text: '500000' });
  expect(storedValue('SMTPPort', '5,87', dollars)).toHaveProperty('problem');
  expect(storedValue('SMTPPort', '', dollars)).toEqual({ text: '' });
  expect(storedValue('SystemName', '5,87', dollars)).toEqual({ text: '5,87' });
});
