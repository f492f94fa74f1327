/** A number or an amount of a setting: as it is typed, and as it is stored. Pure. */
import { type AmountIssue, parseNumber } from '../../../server/contract/amount.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { maxQuota } from '../../../server/contract/pricing/share.ts';
import { moneyIn, moneyOf, numberIn } from '../../components/amount.ts';

/** Options whose number is quota, which people read as money. */
const quotaOptions: ReadonlySet<OptionKey> = new Set([
  'QuotaForNewUser',
  'PreConsumedQuota',
  'QuotaForInviter',
  'QuotaForInvitee',
  'QuotaRemindThreshold',
]);

/** What an option is typed as. */
export function shapeOf(option: OptionKey): 'money' | 'number' | 'other' {
  const { name } = optionRow(option).kind;
  if (name !== 'integer' && name !== 'decimal') return 'other';
  return quotaOptions.has(option) ? 'money' : 'number';
}

/** The kind of the option knows its bounds; these only say what a number is. */
export const numberBounds = (option: OptionKey) => ({
  integer: optionRow(option).kind.name === 'integer',
  min: Number.MIN_SAFE_INTEGER,
});
export const optionBounds = { min: -maxQuota } as const;

/** What the field shows for a stored value; a stored text that is no number is shown as it is. */
export function displayedValue(option: OptionKey, stored: string, details: MoneyDetails | null): string {
  const value = Number(stored);
  if (stored.trim() === '' || !Number.isFinite(value)) return stored;
  const shape = shapeOf(option);
  return shape === 'number'
    ? numberIn(value)
    : shape === 'money' && details !== null && Number.isInteger(value)
      ? moneyIn(value, details)
      : stored;
}

/** What is stored for a text. */
export function storedValue(
  option: OptionKey,
  text: string,
  details: MoneyDetails | null,
): { readonly text: string } | { readonly problem: Pick<AmountIssue, 'zh' | 'en'> } {
  const shape = shapeOf(option);
  if (shape === 'other') return { text };
  const amount = shape === 'money' ? moneyOf(text, details, optionBounds) : parseNumber(text, numberBounds(option));
  if (amount.kind === 'value')
    return { text: amount.value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 12 }) };
  // Whether it may be empty is for the kind to say.
  if (amount.kind === 'invalid' && amount.issue.reason !== 'empty') return { problem: amount.issue };
  return { text: '' };
}
