import type { CommandRow } from '../../command.ts';

export const paymentRows: readonly CommandRow[] = [
  {
    name: 'payment list',
    zh: '充值订单',
    en: 'list top-up orders',
    flags: [
      { flag: '--status <name>', zh: '状态：pending、expired、success', en: 'status: pending, expired, success' },
      { flag: '--limit <n>', zh: '条数（默认 20）', en: 'rows (default 20)' },
    ],
    examples: ['payment list', 'payment list --status pending --json'],
    load: async () => (await import('./payment.ts')).list,
  },
  {
    name: 'payment callbacks',
    zh: '支付回调及处理结果',
    en: 'what payment providers reported, and what became of it',
    flags: [
      {
        flag: '--outcome <name>',
        zh: '结果：credited、duplicate、unmatched、mismatch、ignored',
        en: 'outcome: credited, duplicate, unmatched, mismatch, ignored',
      },
      { flag: '--limit <n>', zh: '条数（默认 20）', en: 'rows (default 20)' },
    ],
    examples: ['payment callbacks', 'payment callbacks --outcome unmatched'],
    load: async () => (await import('./payment.ts')).callbacks,
  },
  {
    name: 'payment complete',
    argument: '<trade-no>',
    zh: '手动完成订单',
    en: 'credit an order by hand',
    examples: ['payment complete USR1NO0123456789ab1790000000', 'payment complete USR1NO0123456789ab1790000000 --yes'],
    load: async () => (await import('./payment.ts')).complete,
  },
  {
    name: 'payment refund',
    argument: '<trade-no>',
    zh: '登记订单退款：扣回相应额度并开具红字发票（不会通知支付平台）',
    en: 'note that an order was given back: takes its quota back and makes a credit note; the payment service is not told',
    flags: [
      {
        flag: '--money <amount>',
        zh: '订单货币的金额，如 3.50（默认：全部余下金额）',
        en: 'in the currency of the order, such as 3.50 (default: all that is left)',
      },
      {
        flag: '--refunded <amount>',
        zh: '此前已退金额；重复执行只计一次',
        en: 'what was given back before: repeated with it, it counts once',
      },
    ],
    examples: [
      'payment refund USR1NO0123456789ab1790000000',
      'payment refund USR1NO0123456789ab1790000000 --money 3.50',
      'payment refund USR1NO0123456789ab1790000000 --money 3.5 --refunded 0',
    ],
    load: async () => (await import('./payment.ts')).refund,
  },
];
