import type { CommandRow } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const { list, rm } = verbRows(
  {
    name: 'access-token',
    zh: '访问令牌',
    en: 'access tokens',
    one: 'access token',
    argument: ['<id>', '<id...>'],
    samples: ['1', 'ci'],
    example: { list: 'access-token list --json=id,name,scopes' },
    load: () => import('./access-token.ts'),
  },
  ['list', 'rm'],
);

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
  list,
  rm,
];
