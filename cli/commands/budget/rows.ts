import { budgetUnits, budgetWindows } from '../../../server/contract/budgets.ts';
import { type CommandRow, dryRun, type Flag } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const holders: readonly Flag[] = [
  { flag: '--token <name>', zh: '令牌（编号或自己的令牌名称）', en: 'a key: its id, or the name of one of your own' },
  { flag: '--user <name>', zh: '用户（名称或编号）', en: 'a user, by name or id' },
  { flag: '--group <name>', zh: '该分组的全体用户', en: 'all users of a group together' },
  { flag: '--label <name>', zh: '带有该标签的全部令牌', en: 'all keys with a label together' },
  {
    flag: '--end-users <name>',
    zh: '该令牌的每个终端用户，各自计算',
    en: 'each end user of a key for himself: its id, or the name of one of your own',
  },
  { flag: '--site', zh: '全站', en: 'the whole site' },
];

const { list, get, rm } = verbRows(
  {
    name: 'budget',
    zh: '预算',
    en: 'budgets',
    one: 'budget',
    argument: ['<id>', '<id...>'],
    samples: ['1', '2'],
    flags: { list: holders },
    example: { list: 'budget list --user mira' },
    load: () => import('./budget.ts'),
  },
  ['list', 'get', 'rm'],
);

export const budgetRows: readonly CommandRow[] = [
  list,
  get,
  {
    name: 'budget set',
    zh: '设置一个时段的预算；已有则修改',
    en: 'set the budget for a window, or change the one there is',
    flags: [
      ...holders,
      {
        flag: '--window <word>',
        zh: `时段：${budgetWindows.join(' ')}`,
        en: `window: ${budgetWindows.join(', ')}; 5h begins with the first use, request bounds the tokens of each request`,
      },
      {
        flag: '--amount <amount>',
        zh: '上限：5usd 是金额，500000 是额度；或请求数、token 数',
        en: 'most that may be used: 5usd is money, 500000 is quota; or a number of requests or tokens',
      },
      {
        flag: '--unit <word>',
        zh: `单位：${budgetUnits.join(' ')}（默认 money）`,
        en: `unit: ${budgetUnits.join(', ')} (default: money; tokens with the window request)`,
      },
      {
        flag: '--zone <name>',
        zh: '时区，如 Asia/Shanghai；留空则为 UTC',
        en: 'time zone, such as Europe/Berlin; empty removes it, which is UTC',
        clears: true,
      },
      { flag: '--raise <amount>', zh: '临时增加的数额，0 为取消', en: 'what is added for a while; 0 ends it' },
      { flag: '--until <when>', zh: '临时增加到何时：24h、7d 或日期', en: 'when the raise ends: 24h, 7d or a date' },
    ],
    examples: [
      'budget set --user mira --window day --amount 5usd',
      'budget set --group default --window 5h --unit requests --amount 200',
      'budget set --site --window month --amount 1000usd --zone Asia/Shanghai',
      'budget set --site --window day --amount 5usd --raise 9usd --until 24h',
      'budget set --token ci --window request --amount 32000',
    ],
    load: async () => (await import('./budget.ts')).set,
  },
  {
    name: 'budget reset',
    argument: '<id...>',
    zh: '将当前时段的用量清零',
    en: 'take off what was used in the current window',
    flags: [dryRun],
    examples: ['budget reset 1', 'budget reset 1 2 --yes'],
    load: async () => (await import('./budget.ts')).reset,
  },
  rm,
];
