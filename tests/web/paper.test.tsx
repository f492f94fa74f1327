/** Documents on paper: what an invoice, a credit note and a statement say, in both languages and both displays of amounts. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Invoice, taxParts } from '../../server/contract/invoice.ts';
import type { Statement } from '../../server/contract/statement.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(1)));
afterAll(() => vi.unstubAllGlobals());

const invoice: Invoice = {
  ...{ kind: 'invoice', number: 'INV-2026-000012', issued_at: 0, date: '2026-11-24', corrects: '', trade_no: 'T1' },
  ...{ method: 'epay:alipay', currency: 'cny', minor: 100, gross: 1_234_500, ...taxParts(1_234_500, 19) },
  seller: { name: 'Acme Ltd.', address: '1 High Street\nLondon', tax_id: 'GB1' },
  buyer: { name: '上海某某科技有限公司', address: '浦东 1 号', tax_id: '91310000', user_id: 7, username: 'mira' },
  ...{ tax_name: 'VAT', tax_rate: '19', quota: 5_000_000, quota_per_unit: 500_000, in_currency: true, note: 'Thanks.' },
};
const line = (day: string, model: string, quota: number, refund = false) => ({
  ...{ day, model, quota, refund, requests: refund ? 0 : 1200, prompt_tokens: 10, completion_tokens: 5 },
});
const statement: Statement = {
  ...{ month: '2026-11', from: 1_793_491_200, to: 1_796_083_199, of: 'user', id: 7, name: 'mira', username: 'mira' },
  ...{ site: 'Our site', in_currency: true, quota_per_unit: 500_000, check: null, bill: null },
  lines: [
    line('2026-11-03', 'gpt-4o', 750_000),
    line('2026-11-03', 'mini', 5000),
    line('2026-11-04', 'mini', 10_000),
    line('2026-11-05', 'mini', -5000, true),
  ],
  total: { requests: 3600, prompt_tokens: 40, completion_tokens: 20, quota: 760_000 },
};
const bill = {
  seller: invoice.seller,
  buyer: { name: 'Müller & Söhne GmbH', address: 'Weg 1', tax_id: '' },
  ...{ gross: 152, ...taxParts(152, 19), tax_name: 'VAT', tax_rate: '19', note: '' },
};
const text = (page: string): string =>
  page
    .replace(/<style>.*?<\/style>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');

const onPaper = async (of: { readonly invoice: Invoice } | { readonly statement: Statement }): Promise<string> => {
  const { InvoicePaper } = await import('../../web/components/paper/invoice-paper.tsx');
  const { StatementPaper } = await import('../../web/components/paper/statement-paper.tsx');
  return rendered('invoice' in of ? <InvoicePaper {...of} /> : <StatementPaper {...of} />, { answers: {} });
};

test('an invoice says seller, buyer, number, order, way of paying, net, tax and what was paid', async () => {
  const page = text(await onPaper({ invoice }));
  expect(page).toContain('开票方 Acme Ltd. 1 High Street London 税号 GB1');
  expect(page).toContain('购买方 上海某某科技有限公司 浦东 1 号 税号 91310000');
  expect(page).toContain('号码 INV-2026-000012 日期 2026-11-24 订单 T1');
  expect(page).toContain('账户充值 $10.00 支付方式：支付宝 12,345.00 CNY');
  expect(page).toContain('不含税 10,373.95 CNY VAT 19% 1,971.05 CNY 合计（已付） 12,345.00 CNY');
  expect(page).toContain('Thanks.');
});

test('a credit note names the invoice that it corrects and how the order was paid, and its amounts are negative', async () => {
  const note: Invoice = {
    ...{ ...invoice, kind: 'credit_note', number: 'CN-2026-000001', corrects: invoice.number },
    ...{ gross: -2300, net: -1933, tax: -367, quota: -1_000_000 },
  };
  const page = text(await onPaper({ invoice: note }));
  expect(page).toContain('红字发票');
  expect(page).toContain('更正 INV-2026-000012');
  expect(page).toContain('扣回账户额度 $2.00 原订单支付方式：支付宝 −23.00 CNY');
  expect(page).toContain('不含税 −19.33 CNY VAT 19% −3.67 CNY 合计（已退） −23.00 CNY');
});

test('without a rate an invoice names no tax, and without a name of the buyer it has the account’s', async () => {
  const plain = { ...invoice, tax: 0, net: invoice.gross, tax_name: '', tax_rate: '', note: '' };
  const page = text(await onPaper({ invoice: { ...plain, buyer: { ...invoice.buyer, name: '' } } }));
  expect(page).toContain('购买方 mira');
  expect(page).not.toContain('VAT');
  expect(page).not.toContain('不含税');
});

test('a statement has each model once, the dearest first, what was given back apart, and the total once on each part', async () => {
  const page = text(await onPaper({ statement }));
  const [byModel = '', byDay = ''] = page.split('附表：按日');
  expect(byModel).toContain('gpt-4o 1,200 10 5 $1.50 mini 2,400 20 10 $0.03 mini（退款） 0 10 5 −$0.01 合计');
  expect(byModel.match(/合计 3,600 40 20 \$1\.52/g)).toHaveLength(1);
  expect(byDay).toContain('2026-11-03 2,400 20 10 $1.51 gpt-4o 1,200 10 5 $1.50 mini 1,200 10 5 $0.01');
  expect(byDay.match(/合计 3,600 40 20 \$1\.52/g)).toHaveLength(1);
});

test('a statement of a site that was paid before names no tax and says that it is no invoice', async () => {
  const page = text(await onPaper({ statement }));
  expect(page).toContain('月度账单');
  expect(page).not.toContain('付款附言');
  expect(page).toContain('本账单不是发票。');
  for (const word of ['VAT', '不含税', '应付金额']) expect(page).not.toContain(word);
});

test('a statement of a site that bills afterwards is called a bill, and names seller, buyer, what a payment refers to, tax and the amount due', async () => {
  const page = text(await onPaper({ statement: { ...statement, bill } }));
  expect(page).toContain('开票方 Acme Ltd.');
  expect(page).toContain('购买方 Müller & Söhne GmbH Weg 1');
  expect(page).toContain('付款账单');
  expect(page).not.toContain('月度账单');
  expect(page).toContain('付款附言 2026-11-user-7');
  expect(page).toContain('账户 用户 mira');
  expect(page).toContain('不含税 $1.28 VAT 19% $0.24 应付金额 $1.52');
  expect(page).not.toContain('本账单不是发票。');
});

test('amounts of a site that shows quota stand in full, with their thousands apart', async () => {
  const page = text(await onPaper({ statement: { ...statement, in_currency: false } }));
  expect(page).toContain('gpt-4o 1,200 10 5 750,000');
  expect(page).toContain('合计 3,600 40 20 760,000');
  expect(page).not.toContain('$');
});

test.each([
  ['Latin', 'a', 96],
  ['Chinese', '某', 48],
])('a name that is longer than a line in %s is cut at the foot of a sheet', async (_script, letter, letters) => {
  const name = letter.repeat(200);
  const page = await onPaper({ invoice: { ...invoice, seller: { ...invoice.seller, name } } });
  const [, foot = ''] = /@bottom-left \{ content: "(.*?)"; font-size/.exec(page.replaceAll('&quot;', '"')) ?? [];
  expect(foot).toMatch(/^INV-2026-000012 .*\\2026 $/);
  const shown = foot.replace('\\2026 ', '');
  const wide = [...shown].filter((letter) => letter === '某').length;
  expect([...shown].length + wide).toBeGreaterThan(94);
  expect([...shown].length + wide).toBeLessThanOrEqual(96);
  expect([...shown].length).toBeGreaterThanOrEqual(letters);
  // The whole name stands on the paper itself.
  expect(text(page)).toContain(name);
});

test('what a name says cannot leave the rule at the foot of a sheet', async () => {
  const seller = { ...invoice.seller, name: 'A" } body { display: none } </style><b>\\' };
  const page = await onPaper({ invoice: { ...invoice, seller } });
  const rule = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? '';
  const [, inside = ''] = /@bottom-left \{ content: (.*?); font-size/.exec(rule) ?? [];
  expect(inside.replaceAll('&quot;', '"')).toMatch(/^"[^"{}<>]*"$/);
  expect(inside).toContain('INV-2026-000012');
});
