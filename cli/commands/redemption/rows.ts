import { type CommandRow, dryRun, type Flag } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const expires: Flag = {
  flag: '--expires <when>',
  zh: '过期：never、1h、30d 或日期',
  en: 'expiry: never, 1h, 30d or a date',
};

const { list, get, enable, disable, rm } = verbRows(
  {
    name: 'redemption',
    zh: '兑换码',
    en: 'redemption codes',
    one: 'redemption code',
    argument: ['<id>', '<id...>'],
    samples: ['1', '1'],
    flags: {
      list: [
        { flag: '--search <text>', zh: '名称开头或编号', en: 'beginning of the name, or id' },
        { flag: '--limit <n>', zh: '条数（默认 100）', en: 'rows (default 100)' },
      ],
    },
    example: { list: 'redemption list --search spring --json', get: 'redemption get 1 -q' },
    load: () => import('./redemption.ts'),
  },
  ['list', 'get', 'enable', 'disable', 'rm'],
);

export const redemptionRows: readonly CommandRow[] = [
  {
    name: 'redemption create',
    zh: '创建兑换码',
    en: 'create redemption codes',
    flags: [
      {
        flag: '--quota <amount>',
        zh: '每个值多少：5usd 是金额，500000 是额度',
        en: 'worth of each: 5usd is money, 500000 is quota',
      },
      { flag: '--count <n>', zh: '个数（默认 1，最多 100）', en: 'how many (default 1, at most 100)' },
      { flag: '--name <text>', zh: '名称', en: 'name' },
      expires,
    ],
    examples: [
      'redemption create --quota 5usd --expires 30d',
      'redemption create --quota 10usd --count 50 --name spring -q',
    ],
    load: async () => (await import('./redemption.ts')).create,
  },
  list,
  get,
  {
    name: 'redemption edit',
    argument: '<id>',
    zh: '修改兑换码',
    en: 'change a redemption code nobody has used',
    flags: [
      { flag: '--name <text>', zh: '名称', en: 'name' },
      {
        flag: '--quota <amount>',
        zh: '值多少：5usd 是金额，500000 是额度',
        en: 'worth: 5usd is money, 500000 is quota',
      },
      expires,
    ],
    examples: ['redemption edit 1 --quota 2usd', 'redemption edit 1 --expires never'],
    load: async () => (await import('./redemption.ts')).edit,
  },
  enable,
  disable,
  rm,
  {
    name: 'redemption prune',
    flags: [dryRun],
    zh: '删除失效的兑换码',
    en: 'delete used, disabled and expired redemption codes',
    examples: ['redemption prune', 'redemption prune --yes'],
    load: async () => (await import('./redemption.ts')).prune,
  },
  {
    name: 'redemption export',
    zh: '导出完整兑换码',
    en: 'export redemption codes with full keys',
    examples: ['redemption export -q > codes.txt', 'redemption export -o csv > codes.csv'],
    load: async () => (await import('./redemption.ts')).exportAll,
  },
];
