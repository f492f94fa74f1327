/** What invoices say of the site that issues them. */
import { decimal, lines, text, toggle, zone } from '../option-kinds.ts';
import { option } from './row.ts';

const place = { tab: 'system', panel: 'invoices', role: 100 } as const;

export const invoiceOptions = {
  'invoice.seller_name': option({
    ...place,
    kind: text,
    fallback: '',
    label: { zh: '开票方名称', en: 'Seller' },
    help: {
      zh: '公司或个人的名称。留空则不为已支付的订单开具发票。',
      en: "Your name or your company's. While it is empty, paid orders get no invoice.",
    },
  }),
  'invoice.seller_details': option({
    ...place,
    kind: lines,
    fallback: '',
    label: { zh: '开票方地址', en: "Seller's address" },
    help: { zh: '每行一条，按原样印在发票上。', en: 'As it should stand on an invoice, line by line.' },
  }),
  'invoice.seller_tax_id': option({
    ...place,
    kind: text,
    fallback: '',
    label: { zh: '开票方税号', en: "Seller's tax number" },
    help: { zh: '例如纳税人识别号，留空则不显示。', en: 'For example a VAT number. Leave empty to show none.' },
  }),
  'invoice.tax_name': option({
    ...place,
    kind: text,
    fallback: 'VAT',
    label: { zh: '税种名称', en: 'Name of the tax' },
    help: { zh: '例如 增值税 或 VAT。', en: 'For example VAT or sales tax.' },
  }),
  'invoice.tax_rate': option({
    ...place,
    kind: decimal(0, 100),
    fallback: '0',
    label: { zh: '税率（%）', en: 'Tax rate (percent)' },
    help: {
      zh: '包含在充值价格内；0 表示发票不列税额。修改只影响此后的发票。',
      en: 'Included in the price of a top-up. With 0, invoices name no tax. A change affects later invoices alone.',
    },
  }),
  'invoice.note': option({
    ...place,
    kind: text,
    fallback: '',
    label: { zh: '发票附注', en: 'Note on invoices' },
    help: { zh: '印在发票末尾，例如免税依据。', en: 'Stands at the foot, for example why no tax is due.' },
  }),
  'invoice.credit_note': option({
    ...place,
    kind: text,
    fallback: '',
    label: { zh: '红字发票附注', en: 'Note on credit notes' },
    help: {
      zh: '印在红字发票末尾；其上不印发票附注。',
      en: 'Stands at the foot of a credit note, where the note on invoices does not stand.',
    },
  }),
  'invoice.statement_bills': option({
    ...place,
    kind: toggle,
    fallback: 'false',
    label: { zh: '月度账单为后付费账单', en: 'Statements bill afterwards' },
    help: {
      zh: '开启后，用户的月度账单列出开票方、购买方、税额与应付金额。预付费站点请关闭：充值已开具发票。',
      en: "A user's month then names seller, buyer, tax and amount due. Leave off where people top up: orders have invoices.",
    },
  }),
  'invoice.time_zone': option({
    ...place,
    kind: zone,
    fallback: '',
    label: { zh: '站点时区', en: 'Time zone of the site' },
    help: {
      zh: '发票日期与编号年份以此为准，例如 Asia/Shanghai；留空为 UTC。',
      en: 'Decides the date and the year of an invoice; such as Europe/Berlin. Leave empty for UTC.',
    },
  }),
} as const;
