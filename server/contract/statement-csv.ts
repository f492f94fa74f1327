/** A statement as a spreadsheet. Not for the console: what writes CSV needs more than a browser has. */
import type { Language } from './enum.ts';
import { textIn } from './language.ts';
import { formatUsd } from './pricing/charge.ts';
import { csvLine } from './safe-text.ts';
import type { Statement } from './statement.ts';

const words = {
  date: { zh: '日期', en: 'Date' },
  model: { zh: '模型', en: 'Model' },
  requests: { zh: '请求数', en: 'Requests' },
  input: { zh: '输入 Tokens', en: 'Input tokens' },
  output: { zh: '输出 Tokens', en: 'Output tokens' },
  amount: { zh: '金额（USD）', en: 'Amount (USD)' },
  quota: { zh: '额度', en: 'Quota' },
  total: { zh: '合计', en: 'Total' },
  refund: { zh: '（退款）', en: ' (refund)' },
} as const;

const decimals = 6;

/** One amount as a plain number: dollars where the site shows currency. */
const plainAmount = (quota: number, { in_currency: inCurrency, quota_per_unit: unit }: Statement): string =>
  inCurrency ? `${quota < 0 ? '-' : ''}${formatUsd(Math.abs(quota), decimals, unit)}` : String(quota);

/** For a spreadsheet, and to be sent to the payer: dates and money, nothing else. */
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
    ...statement.lines.map((line) => row(line.day, `${line.model}${line.refund ? say('refund') : ''}`, line)),
    row(say('total'), '', statement.total),
  ]
    .map((cells) => `${csvLine(cells)}\r\n`)
    .join('');
}
