import type { CommandRow } from '../../command.ts';

export const statementRows: readonly CommandRow[] = [
  {
    name: 'statement',
    zh: '月度账单：按日期与模型列出用户、令牌、令牌标签、项目或渠道标签的费用',
    en: 'monthly bill of a user, key, label, project or tag, by day and model',
    flags: [
      { flag: '--user <name>', zh: '用户（默认：执行命令者）', en: 'user (default: who runs the command)' },
      { flag: '--token <name>', zh: '令牌，属于 --user', en: 'key, of --user' },
      { flag: '--label <name>', zh: '令牌标签（可与 --user 同用）', en: 'label of keys, of --user where named' },
      { flag: '--project <name>', zh: '项目（可与 --user 同用）', en: 'project, of --user where named' },
      { flag: '--tag <name>', zh: '渠道标签', en: 'tag of channels' },
      {
        flag: '--by <what>',
        zh: '划分：user、token、label、project',
        en: 'divide it by user, token, label or project',
      },
      {
        flag: '--month <month>',
        zh: '月份，如 2026-11（默认本月，UTC）',
        en: 'such as 2026-11 (default: this month, UTC)',
      },
      { flag: '--csv', zh: '输出可发送给客户的 CSV', en: 'CSV that can be sent to whoever pays' },
      { flag: '--focus', zh: '输出 FOCUS 1.2 格式的 CSV', en: 'CSV in the columns of FOCUS 1.2, for tools of FinOps' },
      { flag: '--check', zh: '由日志重算每笔费用并核对', en: 'recompute every charge from its log entry' },
    ],
    examples: [
      'statement --user alice',
      'statement --token ci --month 2026-10 --csv > october.csv',
      'statement --by project --month 2026-10',
      'statement --label team-a --focus > team-a.csv',
      'statement --check',
    ],
    load: async () => (await import('./statement.ts')).statement,
  },
];
