import { type CommandRow, dryRun } from '../../command.ts';

export const accessTokenRows: readonly CommandRow[] = [
  {
    name: 'access-token create',
    zh: '创建带权限范围的访问令牌，只显示这一次',
    en: 'create an access token with scopes; it is printed once',
    flags: [
      { flag: '--name <text>', zh: '名称', en: 'name' },
      {
        flag: '--scope <list...>',
        zh: '权限：read、write、channels、logs:read 等',
        en: 'read, write, channels, logs:read and the like',
      },
      { flag: '--expires <when>', zh: '过期：never、1h、30d 或日期', en: 'expiry: never, 1h, 30d or a date' },
    ],
    examples: [
      'access-token create --name backup --scope read -q',
      'access-token create --name ci --scope channels logs:read --expires 30d',
    ],
    load: async () => (await import('./access-token.ts')).create,
  },
  {
    name: 'access-token list',
    zh: '访问令牌列表',
    en: 'list access tokens',
    examples: ['access-token list', 'access-token list --json=id,name,scopes'],
    load: async () => (await import('./access-token.ts')).list,
  },
  {
    name: 'access-token rm',
    argument: '<id...>',
    zh: '删除访问令牌',
    en: 'remove access tokens',
    flags: [dryRun],
    examples: ['access-token rm 1', 'access-token rm ci --yes'],
    load: async () => (await import('./access-token.ts')).remove,
  },
];
