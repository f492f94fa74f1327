/** One thing as people read it: names of its fields, amounts, times and states in words. JSON keeps what the wire has. */

import type { Language } from '../../server/contract/enum.ts';
import { textIn } from '../../server/contract/language.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { isoTime } from '../output.ts';
import { stateIn } from './chinese-lists.ts';
import { chineseName } from './chinese-names.ts';
import type { Money } from './money.ts';
import { unlimited } from './numbers.ts';

/** What is no state. */
const chineseWords: Readonly<Record<string, string>> = {
  root: '超级管理员',
  admin: '管理员',
  user: '普通用户',
  [unlimited]: '不限',
  never: '永不',
  yes: '是',
  no: '否',
};

const amounts = /^(quota|used_quota|remain_quota|aff_quota|aff_history_quota|day_used|month_used)$/;
export const isAmount = (field: string): boolean => amounts.test(field);
const budgets = /^(day|month)_budget$/;
const limits = /^(rpm|tpm|concurrency)_limit$/;
const counts = /^(rpm|tpm|users|tokens|channels|requests|request_count|aff_count|max_input_tokens|settlements_\w+)$/;
const times = /_(time|at|until)$/;
const wordFields = /^(role|status)$/;

interface Reader {
  readonly language: Language;
  readonly money: Money | null;
  /** Counts with separators, as people read them. */
  readonly grouped?: true;
}

/** @returns '' = nothing worth a line. */
export function reading(name: string, value: unknown, { language, money, grouped }: Reader): string {
  const word = (text: string): string => textIn({ zh: chineseWords[text] ?? stateIn(text, 'zh'), en: text }, language);
  if (value === null || value === undefined || value === '') return '';
  if (typeof value === 'boolean') return word(value ? 'yes' : 'no');
  if (typeof value === 'object') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (name === 'expired_time' && value <= 0) return word('never');
    if (name === 'response_time') return value === 0 ? '' : `${value} ms`;
    if (times.test(name)) return isoTime(value);
    if ((budgets.test(name) || limits.test(name)) && value === 0) return word(unlimited);
    if ((amounts.test(name) || budgets.test(name)) && money !== null) return money.of(value, 'short');
    return grouped === true && (counts.test(name) || limits.test(name)) ? value.toLocaleString('en-US') : String(value);
  }
  return wordFields.test(name) || value === unlimited ? word(String(value)) : String(value);
}

/** @param money null = there are no amounts. */
export function readable(value: object, reader: Reader): string[] {
  const rows = Object.entries(value).flatMap(([name, item]) => {
    const text = reading(name, item, reader);
    return text === '' ? [] : [[textIn({ zh: chineseName(name), en: name }, reader.language), safeLine(text)] as const];
  });
  const cells = Math.max(22, ...rows.map(([name]) => Bun.stringWidth(name)));
  return rows.map(([name, text]) => `${name}${' '.repeat(cells - Bun.stringWidth(name))} ${text}`);
}

/** Of a token: what it may spend is one line. */
export const tokenParts = <Token extends { readonly unlimited_quota: boolean; readonly remain_quota: number }>({
  unlimited_quota: without,
  ...token
}: Token): object => {
  const { model_limits_enabled: _enabled, ...rest } = token as typeof token & { model_limits_enabled?: boolean };
  return without ? { ...rest, remain_quota: unlimited } : rest;
};
