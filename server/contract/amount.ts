/**
 * Reads amounts of money and numbers as people type them, for the console, the terminal and its flags alike.
 *
 * `.` is the decimal point and `,` groups thousands, in Chinese as in English. A group has exactly three digits:
 * `1,000` is one thousand, `1.000` is one, and what fits neither (`1,00`, `1.000.000`, `1.000,5`) is refused rather than
 * guessed. Space, `_` and `'` group like the comma. Nothing becomes 0 or unlimited unless it is written so.
 */
import { maxQuota } from './pricing/share.ts';

export type AmountReason =
  | 'empty'
  | 'unreadable'
  | 'separators'
  | 'negative'
  | 'fraction'
  | 'step'
  | 'bounds'
  | 'currency'
  | 'no_currency'
  | 'unlimited';

export interface AmountIssue {
  readonly reason: AmountReason;
  readonly zh: string;
  readonly en: string;
}

export type Amount =
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'unlimited' }
  | { readonly kind: 'invalid'; readonly issue: AmountIssue };

export interface NumberOptions {
  /** 0 unless given: only a negative one lets a sign through. */
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
  /** Most decimals. */
  readonly maxDecimals?: number;
  /** A price: this currency may be written beside the number. */
  readonly currency?: string;
  /** Whether `unlimited` is an answer. */
  readonly unlimited?: boolean;
}

export interface MoneyOptions {
  /** What a number without a currency is: an amount in the currency, or quota. */
  readonly plain: 'currency' | 'quota';
  readonly quotaPerUnit: number;
  /** The currency that one unit of is worth `quotaPerUnit`; usd unless given. */
  readonly currency?: string;
  /** The smallest amount in quota; 0 unless given. */
  readonly min?: number;
  /** The largest amount in quota. */
  readonly max?: number;
  readonly unlimited?: boolean;
}

const marks: Readonly<Record<string, readonly string[]>> = {
  usd: ['$', 'us$', 'dollar', 'dollars', '美元', '美金'],
  cny: ['¥', 'cn¥', 'rmb', 'yuan', '元', '人民币'],
  jpy: ['¥', 'jp¥', '円', '日元'],
  eur: ['€', 'euro', 'euros', '欧元'],
  gbp: ['£', '英镑'],
  hkd: ['hk$', '港元', '港币'],
  krw: ['₩'],
  inr: ['₹'],
  rub: ['₽'],
  ...Object.fromEntries(
    ['twd', 'sgd', 'aud', 'cad', 'chf', 'brl', 'mxn', 'vnd', 'thb', 'try'].map((code) => [code, []]),
  ),
};
const quotaWords = ['quota', '额度'];
const unlimitedWords = ['unlimited', 'no limit', '∞', '不限', '不限制', '不限额', '无限', '无限制'];

/** The short forms in which quota is shown, and the Chinese ones. */
const powers: Readonly<Record<string, number>> = { k: 3, m: 6, b: 9, 千: 3, 万: 4, 亿: 8 };

/** digits / 10^places. */
interface Exact {
  readonly digits: bigint;
  readonly maxDecimals: number;
}

interface Read {
  readonly number: Exact;
  readonly negative: boolean;
  /** What stands before or behind the number; '' = nothing. */
  readonly unit: string;
}

const maxDecimals = 30;

const issue = (reason: AmountReason, zh: string, en: string) =>
  ({ kind: 'invalid', issue: { reason, zh, en } }) as const;
type Invalid = ReturnType<typeof issue>;

const plainly = (text: string): string => text.normalize('NFKC').trim().replace(/[−–—]/g, '-').toLowerCase();

const shape = /^([+-]?)\s*([^\d.,\s'’_+-]*)\s*([+-]?)\s*((?:[\d.][\d.,\s'’_]*)?)(e[+-]?\d{1,3})?\s*(\D*)$/;

function read(typed: string, sample: string): Read | Invalid {
  const found = shape.exec(plainly(typed));
  const text = typed.trim();
  const unreadable = issue(
    'unreadable',
    `“${text}”不是数字，例如 ${sample}`,
    `"${text}" is not a number such as ${sample}`,
  );
  const [, sign = '', before = '', later = '', body = '', exponent = '', behind = ''] = found ?? [];
  if (body === '' || (sign !== '' && later !== '') || (before !== '' && isCurrency(behind))) return unreadable;
  const { unit, power } = isUnit(behind) ? { unit: behind, power: 0 } : shortened(behind);
  if (!isUnit(unit) || !isUnit(before)) return unreadable;
  const number = exactOf(body.trim(), Number(exponent.slice(1) || 0) + power);
  if (number === null) return unreadable;
  if (number === 'separators')
    return issue(
      'separators',
      `“${text}”无法确定是多少：小数点是“.”，千位分隔符后必须正好三位数字，例如 1,000.50`,
      `"${text}" can be read in two ways: "." is the decimal point, and a separator stands before exactly three digits, as in 1,000.50`,
    );
  return { number, negative: sign === '-' || later === '-', unit: before || unit };
}

const codesOf = (unit: string): readonly string[] =>
  Object.keys(marks).filter((code) => code === unit || marks[code]?.includes(unit));
const isCurrency = (unit: string): boolean => quotaWords.includes(unit) || codesOf(unit).length > 0;
const isUnit = (unit: string): boolean => unit === '' || isCurrency(unit);

function shortened(behind: string): { readonly unit: string; readonly power: number } {
  const [first = ''] = behind;
  const power = Object.hasOwn(powers, first) ? (powers[first] ?? 0) : 0;
  return power === 0 ? { unit: behind, power } : { unit: behind.slice(first.length).trim(), power };
}

function exactOf(body: string, exponent: number): Exact | 'separators' | null {
  if (!/\d/.test(body)) return null;
  const [whole = '', fraction = '', ...more] = body.replace(/\s/g, ' ').replaceAll('’', "'").split('.');
  if (more.length > 0 || /\D/.test(fraction)) return 'separators';
  const [separator = ''] = whole.match(/\D/) ?? [];
  const groups = separator === '' ? [whole] : whole.split(separator);
  if (groups.some((group, index) => /\D/.test(group) || (separator !== '' && !hasGroup(group, index))))
    return 'separators';
  const places = fraction.length - exponent;
  if (Math.abs(places) > maxDecimals || whole.length > maxDecimals) return null;
  const digits = BigInt(groups.join('') + fraction);
  return places < 0
    ? { digits: digits * 10n ** BigInt(-places), maxDecimals: 0 }
    : trimmed({ digits, maxDecimals: places });
}

const hasGroup = (group: string, index: number): boolean =>
  index === 0 ? group.length > 0 && group.length <= 3 : group.length === 3;

function trimmed({ digits, maxDecimals: places }: Exact): Exact {
  let [left, decimals] = [digits, places];
  while (decimals > 0 && left % 10n === 0n) [left, decimals] = [left / 10n, decimals - 1];
  return { digits: left, maxDecimals: decimals };
}

const textOf = ({ digits, maxDecimals: places }: Exact): string => {
  const text = String(digits).padStart(places + 1, '0');
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
};

/** What both kinds refuse alike. @returns null when the text is neither empty nor "unlimited". */
function withoutNumber(text: string, unlimited: boolean, sample: string): Amount | null {
  if (text === '') return issue('empty', `请输入，例如 ${sample}`, `enter one, such as ${sample}`);
  if (!unlimitedWords.includes(text)) return null;
  return unlimited
    ? { kind: 'unlimited' }
    : issue(
        'unlimited',
        `此处不能不限，请输入数字，例如 ${sample}`,
        `"unlimited" is not possible here: enter a number such as ${sample}`,
      );
}

const negative = (): Invalid => issue('negative', '不能是负数', 'must not be negative');

/** Thousands apart, so that a bound can be read. */
const grouped = (value: number): string => {
  const [whole = '', fraction] = textOfNumber(value).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`);
};
const textOfNumber = (value: number): string =>
  value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 12 });

function outside(value: number, min: number, max: number, format: (value: number) => string): Invalid | null {
  if (value >= min && value <= max) return null;
  if (value < 0 && min >= 0) return negative();
  return value < min
    ? issue('bounds', `不能小于 ${format(min)}`, `must be at least ${format(min)}`)
    : issue('bounds', `不能大于 ${format(max)}`, `must be at most ${format(max)}`);
}

/** A count, a limit, a ratio or a price. */
export function parseNumber(text: string, options: NumberOptions = {}): Amount {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, integer = false, currency = '' } = options;
  const places = integer ? 0 : (options.maxDecimals ?? maxDecimals);
  const sample = integer ? '1000' : '1.5';
  const normalized = plainly(text);
  const result = withoutNumber(normalized, options.unlimited === true, sample);
  if (result !== null) return result;
  const found = read(text, sample);
  if ('kind' in found) return found;
  if (found.unit !== '' && !codesOf(found.unit).includes(currency))
    return currency === ''
      ? issue('no_currency', `此处是数字，不带“${found.unit}”`, `this is a number, without "${found.unit}"`)
      : otherCurrency(found.unit, currency);
  if (found.number.maxDecimals > places)
    return places === 0
      ? issue('fraction', '必须是整数', 'must be a whole number')
      : issue('fraction', `最多 ${places} 位小数`, `at most ${places} decimals`);
  const value = Number(textOf(found.number)) * (found.negative && found.number.digits > 0n ? -1 : 1);
  return outside(value, min, max, grouped) ?? { kind: 'value', value };
}

const otherCurrency = (unit: string, currency: string): Invalid =>
  issue(
    'currency',
    `此处的金额以 ${currency.toUpperCase()} 计，不是“${unit}”`,
    `amounts here are in ${currency.toUpperCase()}, not in "${unit}"`,
  );

/** @returns quota. What is stored reads back as what was typed: an amount between two steps of quota is refused. */
export function parseMoney(text: string, options: MoneyOptions): Amount {
  const { plain, currency = 'usd', min = 0, max = maxQuota } = options;
  const sample = plain === 'quota' ? `500000, 5${currency}` : '5.50';
  const normalized = plainly(text);
  const result = withoutNumber(normalized, options.unlimited === true, sample);
  if (result !== null) return result;
  const found = read(text, sample);
  if ('kind' in found) return found;
  const { number, unit } = found;
  const inQuota = unit === '' ? plain === 'quota' : quotaWords.includes(unit);
  if (unit !== '' && !inQuota && !codesOf(unit).includes(currency)) return otherCurrency(unit, currency);
  const sign = found.negative && number.digits > 0n ? -1 : 1;
  if (inQuota && number.maxDecimals > 0)
    return issue(
      'fraction',
      `额度必须是整数；金额请写 5${currency}`,
      `quota is a whole number; write money as 5${currency}`,
    );
  const quota = inQuota ? Number(number.digits) : quotaOfAmount(number, options.quotaPerUnit);
  const format = (value: number): string =>
    inQuota
      ? grouped(value)
      : `${grouped(Number(textOf(amountOfQuota(value, options.quotaPerUnit))))} ${currency.toUpperCase()}`;
  const rejected = outside(sign * quota, min, max, format);
  if (rejected !== null) return rejected;
  if (!inQuota && textOf(amountOfQuota(quota, options.quotaPerUnit)) !== textOf(number))
    return issue(
      'step',
      `最接近的可用金额是 ${format(quota)}`,
      `finer than this site counts; the nearest amount is ${format(quota)}`,
    );
  return { kind: 'value', value: sign * quota };
}

const roundQuotient = (value: bigint, by: bigint): bigint => (2n * value + by) / (2n * by);

/** A ratio that is written with decimals, as a fraction of whole numbers. */
function fractionOf(value: number): Exact {
  const [whole = '0', fraction = ''] = textOfNumber(value).split('.');
  return { digits: BigInt(whole + fraction), maxDecimals: fraction.length };
}

function quotaOfAmount({ digits, maxDecimals: places }: Exact, quotaPerUnit: number): number {
  const unit = fractionOf(quotaPerUnit);
  return Number(roundQuotient(digits * unit.digits, 10n ** BigInt(places + unit.maxDecimals)));
}

const defaultDecimals = 6;

/** With enough decimals to distinguish every quota from its neighbours. */
function amountOfQuota(quota: number, quotaPerUnit: number): Exact {
  const unit = fractionOf(quotaPerUnit);
  const places = Math.max(defaultDecimals, Math.ceil(Math.log10(quotaPerUnit)));
  const digits = roundQuotient(BigInt(Math.abs(quota)) * 10n ** BigInt(places + unit.maxDecimals), unit.digits);
  return trimmed({ digits, maxDecimals: places });
}

/** The shortest text that `parseMoney` reads as this quota: what a field starts with. */
export function moneyText(
  quota: number,
  { plain, quotaPerUnit }: Pick<MoneyOptions, 'plain' | 'quotaPerUnit'>,
): string {
  if (plain === 'quota') return String(quota);
  return (quota < 0 ? '-' : '') + textOf(amountOfQuota(quota, quotaPerUnit));
}
