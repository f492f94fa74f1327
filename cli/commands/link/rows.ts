import { linkDays } from '../../../server/contract/link.ts';
import { type CommandRow, dryRun } from '../../command.ts';

export const linkRows: readonly CommandRow[] = [
  {
    name: 'link list',
    zh: '单据链接列表',
    en: 'list links to documents, and how often they were opened',
    flags: [
      { flag: '--all', zh: '所有用户的链接', en: 'of everybody' },
      { flag: '--name <text>', zh: '单据名称包含的文字', en: 'text in the name of the document' },
      { flag: '--limit <n>', zh: '条数（默认 20）', en: 'rows (default 20)' },
    ],
    examples: ['link list', 'link list --all --name INV-2026-000001'],
    load: async () => (await import('./link.ts')).list,
  },
  {
    name: 'link create',
    zh: '生成链接：无需账户即可查看一张发票或一份月度账单',
    en: 'make a link that opens one invoice or statement without an account',
    flags: [
      { flag: '--invoice <number>', zh: '发票号', en: 'number of an invoice' },
      { flag: '--month <month>', zh: '月度账单的月份，如 2026-11', en: 'month of a statement, such as 2026-11' },
      { flag: '--user <name>', zh: '用户（默认：执行命令者）', en: 'user (default: who runs the command)' },
      { flag: '--token <name>', zh: '令牌，属于 --user', en: 'key, of --user' },
      { flag: '--tag <name>', zh: '渠道标签', en: 'tag of channels' },
      { flag: '--label <name>', zh: '令牌标签（可与 --user 同用）', en: 'label of keys, of --user where named' },
      { flag: '--project <name>', zh: '项目（可与 --user 同用）', en: 'project, of --user where named' },
      { flag: '--days <n>', zh: `有效天数（默认 ${linkDays}）`, en: `days that it opens (default ${linkDays})` },
    ],
    examples: ['link create --invoice INV-2026-000001', 'link create --month 2026-11 --user alice --days 7 -q'],
    load: async () => (await import('./link.ts')).create,
  },
  {
    name: 'link revoke',
    argument: '<id...>',
    zh: '撤回链接',
    en: 'revoke links',
    flags: [dryRun],
    examples: ['link revoke 1', 'link revoke 1 2 --json'],
    load: async () => (await import('./link.ts')).revoke,
  },
];
