/** How fields read amounts and write them back. Pure. */
import {
  type Amount,
  type AmountIssue,
  type MoneyOptions,
  moneyText,
  type NumberOptions,
  parseMoney,
  parseNumber,
} from '../../server/contract/amount.ts';
import type { MoneyDetails } from '../../server/contract/pricing/format.ts';

/** Bounds are of quota. */
export type MoneyBounds = Pick<MoneyOptions, 'min' | 'max'>;

const moneyOptionsOf = ({ inCurrency, quotaPerUnit }: MoneyDetails): Pick<MoneyOptions, 'plain' | 'quotaPerUnit'> => ({
  plain: inCurrency ? 'currency' : 'quota',
  quotaPerUnit,
});

const unknownCurrency: AmountIssue = {
  reason: 'unreadable',
  zh: '站点的货币设置尚未读到，请稍候',
  en: 'the currency of this site is not known yet: wait a moment',
};

/** @param details null = the site has not said what its amounts are in. */
export const moneyOf = (text: string, details: MoneyDetails | null, bounds: MoneyBounds = {}): Amount =>
  details === null
    ? { kind: 'invalid', issue: unknownCurrency }
    : parseMoney(text, { ...moneyOptionsOf(details), ...bounds });

/** @returns the value of a text that a field has accepted. @param empty of a field that may be left empty. */
export function valueIn(amount: Amount, empty?: number): number {
  if (amount.kind === 'value') return amount.value;
  if (empty !== undefined && amount.kind === 'invalid' && amount.issue.reason === 'empty') return empty;
  throw new Error(amount.kind === 'invalid' ? amount.issue.en : amount.kind);
}

const cents = 2;
/** Thousands apart, and money with two decimals at least. */
function grouped(text: string, decimals: number): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '') return text;
  const padded = fraction.padEnd(decimals, '0');
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${padded === '' ? '' : `.${padded}`}`;
}

/** What a field of money shows for an amount of quota. */
export const moneyIn = (quota: number, details: MoneyDetails): string =>
  grouped(moneyText(quota, moneyOptionsOf(details)), details.inCurrency ? cents : 0);

/** What a field of numbers shows. */
export const numberIn = (value: number): string =>
  grouped(value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 12 }), 0);

/** The same amount as the field writes it; what cannot be read stays as it was typed. */
export function normalizeMoney(text: string, details: MoneyDetails | null, bounds: MoneyBounds): string {
  const amount = moneyOf(text, details, bounds);
  return details === null || amount.kind !== 'value' ? text : moneyIn(amount.value, details);
}
export function normalizeNumber(text: string, bounds: NumberOptions): string {
  const amount = parseNumber(text, bounds);
  return amount.kind === 'value' ? numberIn(amount.value) : text;
}
