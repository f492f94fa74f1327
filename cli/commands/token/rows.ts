import { type CommandRow, dryRun, type Flag } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const fields: readonly Flag[] = [
  { flag: '--name <text>', zh: '名称', en: 'name' },
  {
    flag: '--quota <amount>',
    zh: '总额：5usd 是金额，500000 是额度，或 unlimited',
    en: 'in total: 5usd is money, 500000 is quota, or unlimited',
  },
  { flag: '--expires <when>', zh: '过期：never、1h、30d 或日期', en: 'expiry: never, 1h, 30d or a date' },
  {
    flag: '--models <list>',
    zh: '限定模型，逗号分隔；unlimited 为不限',
    en: 'allowed models, comma separated; unlimited lifts it',
  },
  {
    flag: '--allow-ip <list...>',
    zh: '限定 IP，可多次给出；unlimited 为不限',
    en: 'allowed addresses, may be repeated; unlimited lifts it',
  },
  { flag: '--group <name>', zh: '分组', en: 'group' },
  {
    flag: '--channels <list>',
    zh: '只用这些渠道，名称或编号，逗号分隔；unlimited 为不限',
    en: 'channels that alone serve it, names or ids, comma separated; unlimited lifts it',
  },
  {
    flag: '--label <list>',
    zh: '标签，逗号分隔，预算可按标签设置；留空为去除',
    en: 'list of labels that budgets may be set for, comma separated; empty removes it',
    clears: true,
  },
  {
    flag: '--day-budget <amount>',
    zh: '每日，写法同 --quota；0 也是不限',
    en: 'per day, as --quota; 0 lifts it too',
  },
  {
    flag: '--month-budget <amount>',
    zh: '每月，写法同 --quota；0 也是不限',
    en: 'per month, as --quota; 0 lifts it too',
  },
  { flag: '--rpm <n>', zh: '每分钟请求数；0 或 unlimited 为不限', en: 'requests per minute; 0 or unlimited lifts it' },
  { flag: '--tpm <n>', zh: '每分钟 tokens；0 或 unlimited 为不限', en: 'tokens per minute; 0 or unlimited lifts it' },
  {
    flag: '--concurrency <n>',
    zh: '同时请求数；0 或 unlimited 为不限',
    en: 'requests at once; 0 or unlimited lifts it',
  },
];

const user: Flag = {
  flag: '--user <name>',
  zh: '令牌所属用户（默认：执行命令者）',
  en: 'who owns the token (default: who runs the command)',
};

const { list, get, enable, disable, rm } = verbRows(
  {
    name: 'token',
    zh: '令牌',
    en: 'tokens',
    one: 'token',
    argument: ['<id>', '<id...>'],
    samples: ['1', 'ci'],
    flags: {
      list: [{ flag: '--user <name>', zh: '只列此用户的令牌', en: 'only those of this user' }],
      get: [user],
      enable: [user],
      disable: [user],
      rm: [user],
    },
    example: { list: 'token list --user alice' },
    load: () => import('./token.ts'),
  },
  ['list', 'get', 'enable', 'disable', 'rm'],
);

export const tokenRows: readonly CommandRow[] = [
  {
    name: 'token create',
    zh: '创建令牌，密钥只显示这一次；终端中不带 --name 则逐项询问',
    en: 'create an API key; it is printed once. On a terminal without --name it asks',
    flags: [
      ...fields,
      user,
      { flag: '--count <n>', zh: '数量', en: 'how many' },
      {
        flag: '--if-exists <mode>',
        zh: '同名时：error、skip、update（默认另建一个）',
        en: 'same name: error, skip, update (default: makes another)',
      },
      { flag: '--key-stdin', zh: '从标准输入读取自带的密钥', en: 'use your own key, from standard input' },
      { flag: '--key-file <path>', zh: '从文件读取自带的密钥', en: 'use your own key, from a file' },
    ],
    examples: ['token create', 'token create --name ci -q', 'token create --name laptop --quota 5usd --expires 30d'],
    load: async () => (await import('./token.ts')).create,
  },
  { ...list, en: 'list API keys' },
  get,
  {
    name: 'token show-key',
    argument: '<id>',
    zh: '显示完整密钥',
    en: "print a token's key",
    flags: [user],
    examples: ['token show-key ci', 'token show-key ci -o env'],
    load: async () => (await import('./token.ts')).showKey,
  },
  {
    name: 'token edit',
    argument: '<id>',
    zh: '修改令牌',
    en: 'change a token',
    flags: [...fields, user],
    examples: [
      'token edit ci --quota unlimited',
      'token edit 1 --expires 30d --rpm 60',
      'token edit ci --channels east,7',
    ],
    load: async () => (await import('./token.ts')).edit,
  },
  {
    name: 'token rotate',
    argument: '<id...>',
    zh: '更换密钥：新密钥只显示这一次；旧密钥立即失效，或在 --grace 期满后失效',
    en: "replace a token's key; the old one stops at once, or when --grace is over",
    flags: [
      user,
      { flag: '--grace <span>', zh: '旧密钥继续有效的时间：24h、7d', en: 'how long the old key still works: 24h, 7d' },
    ],
    examples: ['token rotate ci -q', 'token rotate ci --grace 24h', 'token rotate ci --yes -o env'],
    load: async () => (await import('./token.ts')).rotate,
  },
  {
    name: 'token retire',
    argument: '<id...>',
    zh: '立即停用更换前的旧密钥',
    en: 'end the old key of a rotated token now',
    flags: [user, dryRun],
    examples: ['token retire ci', 'token retire 1 2'],
    load: async () => (await import('./token.ts')).retire,
  },
  {
    name: 'token share',
    argument: '<id>',
    zh: '生成一次性链接：首个打开者可查看密钥',
    en: 'make a link that shows the key once, to whoever opens it first',
    flags: [
      user,
      { flag: '--for <span>', zh: '链接有效时间（默认 24h）', en: 'how long it can be opened (default 24h)' },
      { flag: '--withdraw', zh: '撤回链接', en: 'withdraw the link' },
    ],
    examples: ['token share ci', 'token share ci --for 7d -q', 'token share ci --withdraw'],
    load: async () => (await import('./token.ts')).share,
  },
  enable,
  disable,
  rm,
];
