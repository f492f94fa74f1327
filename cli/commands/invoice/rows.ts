import type { CommandRow } from '../../command.ts';

export const invoiceRows: readonly CommandRow[] = [
  {
    name: 'invoice list',
    zh: '发票与红字发票',
    en: 'list invoices of paid orders, and credit notes',
    flags: [
      { flag: '--user <name>', zh: '用户', en: 'of one user' },
      { flag: '--kind <word>', zh: '种类：invoice、credit_note', en: 'kind: invoice, credit_note' },
      { flag: '--year <year>', zh: '年份，如 2026', en: 'year, such as 2026' },
      { flag: '--limit <n>', zh: '条数（默认 20）', en: 'rows (default 20)' },
    ],
    examples: ['invoice list', 'invoice list --user alice --json', 'invoice list --year 2026 --output csv'],
    load: async () => (await import('./invoice.ts')).list,
  },
  {
    name: 'invoice get',
    argument: '<number>',
    zh: '显示一张发票',
    en: 'show an invoice as it was made',
    examples: ['invoice get INV-2026-000001', 'invoice get INV-2026-000001 --json'],
    load: async () => (await import('./invoice.ts')).get,
  },
  {
    name: 'invoice buyer',
    zh: '查看或修改发票抬头，只影响此后的发票',
    en: 'show or change what later invoices say of their buyer',
    flags: [
      { flag: '--user <name>', zh: '用户（默认：执行命令者）', en: 'user (default: who runs the command)' },
      {
        flag: '--name <text>',
        zh: '公司或个人名称，留空则清除',
        en: 'name of the person or company; empty removes it',
        clears: true,
      },
      {
        flag: '--address <text>',
        zh: '地址，各行以 \\n 分隔，留空则清除',
        en: 'address, its lines apart by \\n; empty removes it',
        clears: true,
      },
      { flag: '--tax-id <text>', zh: '税号，留空则清除', en: 'tax number; empty removes it', clears: true },
    ],
    examples: ['invoice buyer', 'invoice buyer --user alice --name Acme --tax-id DE123456789'],
    load: async () => (await import('./invoice.ts')).buyer,
  },
];
