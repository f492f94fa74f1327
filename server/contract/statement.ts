/** A bill of one calendar month (UTC) by model and day: of a user, a key, or the channels of a tag. Pure. */
import * as z from 'zod/mini';
import type { Language } from './enums.ts';
import { textIn } from './language.ts';
import { formatUsd } from './pricing/charge.ts';
import { csvLine } from './safe-text.ts';

const int = z.int();
const sums = { requests: int, prompt_tokens: int, completion_tokens: int, quota: int };

export const statementShape = z.object({
  /** `2026-11`. */
  month: z.string(),
  /** Epoch seconds of the first and of the last second. */
  from: int,
  to: int,
  of: z.enum(['user', 'token', 'tag']),
  /** The user's or the key's number; 0 for a tag. */
  id: int,
  name: z.string(),
  /** Whose bill it is; '' for a tag. */
  username: z.string(),
  site: z.string(),
  in_currency: z.boolean(),
  quota_per_unit: z.number(),
  /** Days with charges, oldest first, the dearest model first. */
  lines: z.array(z.object({ /** `2026-11-03` */ day: z.string(), model: z.string(), ...sums })),
  total: z.object(sums),
  /** Every charge of the month recomputed from its own row; null = not asked for. */
  check: z.nullable(z.object({ checked: int, unequal: int })),
});
export type Statement = z.infer<typeof statementShape>;
export type StatementLine = Statement['lines'][number];

/** @returns epoch seconds of its ends; null = no month. */
export function monthRange(month: string): { readonly from: number; readonly to: number } | null {
  const [, year, number] = (/^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? []).map(Number);
  if (year === undefined || number === undefined) return null;
  return { from: Date.UTC(year, number - 1) / 1000, to: Date.UTC(year, number) / 1000 - 1 };
}

/** @param now epoch milliseconds. */
export const monthAt = (now: number): string => new Date(now).toISOString().slice(0, 7);

const words = {
  date: { zh: '日期', en: 'Date' },
  model: { zh: '模型', en: 'Model' },
  requests: { zh: '请求数', en: 'Requests' },
  input: { zh: '输入 Tokens', en: 'Input tokens' },
  output: { zh: '输出 Tokens', en: 'Output tokens' },
  amount: { zh: '金额（USD）', en: 'Amount (USD)' },
  quota: { zh: '额度', en: 'Quota' },
  total: { zh: '合计', en: 'Total' },
} as const;

const decimals = 6;

/** One amount as a plain number: dollars where the site shows currency. */
export const plainAmount = (quota: number, { in_currency: inCurrency, quota_per_unit: unit }: Statement): string =>
  inCurrency ? `${quota < 0 ? '-' : ''}${formatUsd(Math.abs(quota), decimals, unit)}` : String(quota);

/** For a spreadsheet, and to be sent to whoever pays: dates and money, nothing else. */
export function statementCsv(statement: Statement, language: Language): string {
  const say = (name: keyof typeof words): string => textIn(words[name], language);
  const head = [
    ...[say('date'), say('model'), say('requests'), say('input'), say('output')],
    say(statement.in_currency ? 'amount' : 'quota'),
  ];
  const row = (day: string, model: string, line: Statement['total']): string[] => [
    ...[day, model, String(line.requests), String(line.prompt_tokens), String(line.completion_tokens)],
    plainAmount(line.quota, statement),
  ];
  return [
    head,
    ...statement.lines.map((line) => row(line.day, line.model, line)),
    row(say('total'), '', statement.total),
  ]
    .map((cells) => `${csvLine(cells)}\r\n`)
    .join('');
}
