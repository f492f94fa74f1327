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
];
