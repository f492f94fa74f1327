import { type CommandRow, dryRun, type Flag } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const password: readonly Flag[] = [
  { flag: '--password-stdin', zh: '从标准输入读取密码', en: 'read the password from standard input' },
  { flag: '--password-file <path>', zh: '从文件读取密码', en: 'read the password from a file' },
];
const username: Flag = { flag: '--username <name>', zh: '用户名', en: 'username' };
const displayName: Flag = { flag: '--display-name <text>', zh: '显示名称', en: 'display name' };
const group: Flag = { flag: '--group <name>', zh: '分组', en: 'group' };

const { list, get, enable, disable, rm } = verbRows(
  {
    name: 'user',
    zh: '用户',
    en: 'users',
    one: 'user',
    argument: ['<user>', '<user...>'],
    samples: ['ann', '2'],
    example: { list: 'user list --columns username,quota' },
    load: () => import('./user.ts'),
  },
  ['list', 'get', 'enable', 'disable', 'rm'],
);

export const userRows: readonly CommandRow[] = [
  {
    name: 'user create',
    zh: '创建用户',
    en: 'create a user',
    flags: [
      username,
      displayName,
      group,
      ...password,
      { flag: '--if-exists <mode>', zh: '同名时：error、skip、update', en: 'same name: error, skip, update' },
    ],
    examples: [
      'user create --username ann --password-stdin < password.txt',
      'user create --username ann --password-file pw --json',
    ],
    load: async () => (await import('./user.ts')).create,
  },
  {
    name: 'user upsert',
    zh: '创建用户，已存在则修改',
    en: 'create a user, or change an existing one',
    flags: [username, displayName, group, ...password],
    examples: ['user upsert --username ann --password-file pw', 'user upsert --username ann --group vip --json=result'],
    load: async () => (await import('./user.ts')).upsert,
  },
  list,
  get,
  {
    name: 'user edit',
    argument: '<user>',
    zh: '修改用户',
    en: 'change a user',
    flags: [username, displayName, group],
    examples: ['user edit ann --group vip', 'user edit 2 --display-name Ann'],
    load: async () => (await import('./user.ts')).edit,
  },
  {
    name: 'user passwd',
    argument: '<user>',
    zh: '重设密码（本机可重设 root）',
    en: 'set a password; on this machine root too',
    flags: password,
    examples: ['user passwd root', 'user passwd ann --password-stdin < password.txt'],
    load: async () => (await import('./user.ts')).passwd,
  },
  {
    name: 'user quota add',
    argument: '<user...>',
    zh: '增减余额：用户 数量（5usd 是金额，500000 是额度）',
    en: 'add to a balance: USER AMOUNT (5usd is money, 500000 is quota)',
    examples: ['user quota add ann 5usd', 'user quota add ann -- -500000'],
    load: async () => (await import('./user.ts')).addQuota,
  },
  {
    name: 'user quota set',
    argument: '<user...>',
    zh: '设定余额：用户 数量（5usd 是金额，500000 是额度）',
    en: 'set a balance: USER AMOUNT (5usd is money, 500000 is quota)',
    examples: ['user quota set ann 5usd', 'user quota set ann 0 --yes'],
    load: async () => (await import('./user.ts')).setQuota,
  },
  enable,
  disable,
  ...(
    [
      ['promote', '提升为管理员', 'make users administrators'],
      ['demote', '降为普通用户', 'make administrators ordinary users'],
    ] as const
  ).map(
    ([verb, zh, en]): CommandRow => ({
      name: `user ${verb}`,
      argument: '<user...>',
      zh,
      en,
      flags: [dryRun],
      examples: [`user ${verb} ann`, `user ${verb} 2 3 --json`],
      load: async () => (await import('./user.ts'))[verb],
    }),
  ),
  { ...rm, zh: '注销用户', en: 'close accounts' },
  {
    name: 'program list',
    argument: '[user]',
    zh: '以某用户身份登录的程序（默认自己）',
    en: 'programs that are signed in as a user (default: yourself)',
    examples: ['program list', 'program list ann --json'],
    load: async () => (await import('./programs.ts')).list,
  },
  {
    name: 'program rm',
    argument: '<id...>',
    zh: '结束程序登录',
    en: 'sign programs out',
    flags: [dryRun],
    examples: ['program rm 61', 'program rm 61 62 --yes'],
    load: async () => (await import('./programs.ts')).rm,
  },
];
