/** A statement as a mail: by model, with the link to its document. */
import type { Language } from '../../contract/enum.ts';
import { amountText } from '../../contract/invoice-text.ts';
import { textIn } from '../../contract/language.ts';
import { formatQuota, formOfColumn } from '../../contract/pricing/format.ts';
import { safeLine } from '../../contract/safe-text.ts';
import { modelsOf, periodName, type Statement } from '../../contract/statement.ts';
import { escapeHtml, type Mail } from '../notifications/mailer.ts';

const words = {
  title: { zh: '月度账单', en: 'Statement' },
  bill: { zh: '付款账单', en: 'Bill' },
  model: { zh: '模型', en: 'Model' },
  requests: { zh: '请求数', en: 'Requests' },
  amount: { zh: '金额', en: 'Amount' },
  total: { zh: '合计', en: 'Total' },
  due: { zh: '应付金额', en: 'Amount due' },
  refund: { zh: '（退款）', en: ' (refund)' },
  open: { zh: '打开、打印或存为 PDF（30 天内有效）', en: 'Open, print or save as PDF (for 30 days)' },
} as const;

const cell = 'padding:4px 12px 4px 0;border-bottom:1px solid #ddd';
const right = `${cell};text-align:right`;

/** @param link '' = the site's address is not known. */
export function statementMail(to: string, statement: Statement, link: string, language: Language): Mail {
  const say = (name: keyof typeof words): string => textIn(words[name], language);
  const { lines, total, bill, name, site } = statement;
  const details = { inCurrency: statement.in_currency, quotaPerUnit: statement.quota_per_unit };
  const form = formOfColumn(
    lines.map(({ quota }) => quota),
    details,
  );
  const money = (quota: number): string => formatQuota(quota, details, form);
  const row = (cells: readonly string[], bold = false): string => {
    const [first = '', ...others] = cells.map(escapeHtml);
    const weight = bold ? ';font-weight:bold' : '';
    return `<tr><td style="${cell}${weight}">${first}</td>${others.map((one) => `<td style="${right}${weight}">${one}</td>`).join('')}</tr>`;
  };
  const title = say(bill === null ? 'title' : 'bill');
  const period = periodName(statement.month, language);
  const rows = modelsOf(lines).map((model) =>
    row([`${model.model}${model.refund ? say('refund') : ''}`, String(model.requests), money(model.quota)]),
  );
  const due = bill === null ? '' : row([say('due'), '', `$${amountText(bill.gross, 100)}`], true);
  const table = `<table style="border-collapse:collapse">${row([say('model'), say('requests'), say('amount')], true)}${rows.join('')}${row([say('total'), String(total.requests), money(total.quota)], true)}${due}</table>`;
  const address = escapeHtml(link);
  const open = link === '' ? '' : `<p><a href="${address}">${escapeHtml(say('open'))}</a><br>${address}</p>`;
  return {
    to,
    subject: safeLine(`${site}: ${title} ${period}, ${name}`),
    html: `<p>${escapeHtml(`${site} · ${title} · ${period} · ${name}`)}</p>${table}${open}`,
  };
}
