import { type CommandRow, dryRun, type Flag } from '../../command.ts';

const expires: Flag = {
  flag: '--expires <when>',
  zh: '过期：never、1h、30d 或日期',
  en: 'expiry: never, 1h, 30d or a date',
};

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
  {
    name: 'redemption list',
    zh: '兑换码列表',
    en: 'list redemption codes',
    flags: [
      { flag: '--search <text>', zh: '名称开头或编号', en: 'beginning of the name, or id' },
      { flag: '--limit <n>', zh: '条数（默认 100）', en: 'rows (default 100)' },
    ],
    examples: ['redemption list', 'redemption list --search spring --json'],
    load: async () => (await import('./redemption.ts')).list,
  },
  {
    name: 'redemption get',
    argument: '<id>',
    zh: '兑换码详情',
    en: 'show one redemption code',
    examples: ['redemption get 1', 'redemption get 1 -q'],
    load: async () => (await import('./redemption.ts')).get,
  },
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
  {
    name: 'redemption enable',
    argument: '<id...>',
    flags: [dryRun],
    zh: '启用兑换码',
    en: 'enable a redemption code',
    examples: ['redemption enable 1', 'redemption enable 1 --json'],
    load: async () => (await import('./redemption.ts')).enable,
  },
  {
    name: 'redemption disable',
    argument: '<id...>',
    flags: [dryRun],
    zh: '禁用兑换码',
    en: 'disable a redemption code',
    examples: ['redemption disable 1', 'redemption disable 1 --json'],
    load: async () => (await import('./redemption.ts')).disable,
  },
  {
    name: 'redemption rm',
    argument: '<id...>',
    flags: [dryRun],
    zh: '删除兑换码',
    en: 'delete a redemption code',
    examples: ['redemption rm 1', 'redemption rm 1 --yes'],
    load: async () => (await import('./redemption.ts')).remove,
  },
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
