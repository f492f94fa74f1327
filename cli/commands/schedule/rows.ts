import { scheduleEvery } from '../../../server/contract/statement-schedule.ts';
import type { CommandRow } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const { list, enable, disable, rm } = verbRows(
  {
    name: 'schedule',
    zh: '账单邮件',
    en: 'statements by mail',
    one: 'statement by mail',
    argument: ['<id>', '<id...>'],
    samples: ['1', '2'],
    flags: { list: [{ flag: '--all', zh: '所有用户的', en: 'of everybody' }] },
    example: { list: 'schedule list --all --json' },
    load: () => import('./schedule.ts'),
  },
  ['list', 'enable', 'disable', 'rm'],
);

export const scheduleRows: readonly CommandRow[] = [
  list,
  {
    name: 'schedule create',
    zh: '每月或每周用邮件发送一份账单',
    en: 'mail a statement each month or week',
    flags: [
      {
        flag: '--every <word>',
        zh: `频率：${scheduleEvery.join(' ')}（默认 month）`,
        en: `how often: ${scheduleEvery.join(', ')} (default month)`,
      },
      { flag: '--user <name>', zh: '用户（默认：执行命令者）', en: 'user (default: who runs the command)' },
      { flag: '--token <name>', zh: '令牌，属于 --user', en: 'key, of --user' },
      { flag: '--tag <name>', zh: '渠道标签', en: 'tag of channels' },
      { flag: '--label <name>', zh: '令牌标签（可与 --user 同用）', en: 'label of keys, of --user where named' },
      { flag: '--project <name>', zh: '项目（可与 --user 同用）', en: 'project, of --user where named' },
      {
        flag: '--to <name>',
        zh: '收件用户（默认：账单所属用户）',
        en: 'user who gets it (default: whose statement it is)',
      },
      { flag: '--email <address>', zh: '其他地址，仅管理员', en: 'another address; for administrators' },
    ],
    examples: ['schedule create', 'schedule create --user alice --every week --email b@acme.example'],
    load: async () => (await import('./schedule.ts')).create,
  },
  enable,
  disable,
  rm,
];
