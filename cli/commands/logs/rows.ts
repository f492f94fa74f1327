import { type CommandRow, dryRun } from '../../command.ts';
import { filterFlags } from './filters.ts';

export const logRows: readonly CommandRow[] = [
  {
    name: 'logs list',
    zh: '使用日志',
    en: 'list usage logs',
    flags: [{ flag: '--limit <n>', zh: '条数（默认 20）', en: 'rows (default 20)' }, ...filterFlags],
    examples: ['logs list --limit 50', 'logs list --type error --since 1h --json'],
    load: async () => (await import('./logs.ts')).list,
  },
  {
    name: 'logs tail',
    zh: '跟随新日志（终端中空格暂停，/ 过滤）',
    en: 'follow the log; on a terminal space pauses, / filters',
    flags: [
      { flag: '-n, --lines <n>', zh: '先显示的条数（默认 10）', en: 'rows to begin with (default 10)' },
      { flag: '-f, --follow', zh: '持续跟随', en: 'keep following' },
      { flag: '--slow <seconds>', zh: '用时不少于，如 5s', en: 'took at least so long, such as 5s' },
      { flag: '--ended <reason>', zh: '结束原因', en: 'how it ended: the end_reason of the row' },
      ...filterFlags,
    ],
    examples: ['logs tail -f', 'logs tail -n 50 --type error'],
    load: async () => (await import('./logs.ts')).tail,
  },
  {
    name: 'logs get',
    argument: '<id>',
    zh: '一条日志',
    en: 'show one log row',
    examples: ['logs get 42', 'logs get 20261120221455123abcdefgh --json'],
    load: async () => (await import('./logs.ts')).get,
  },
  {
    name: 'logs explain',
    argument: '<id>',
    zh: '逐行解释一笔费用并重算',
    en: 'explain a charge line by line and recompute it',
    examples: ['logs explain 42', 'logs explain 20261120221455123abcdefgh'],
    load: async () => (await import('./explain.ts')).explain,
  },
  {
    name: 'logs stat',
    zh: '用量统计',
    en: 'totals, or totals by channel, model or user',
    flags: [
      { flag: '--by <what>', zh: '按 channel、model、user', en: 'by channel, model, user' },
      {
        flag: '--margin',
        zh: '显示成本与利润（选项 ChannelCostRatio）',
        en: 'show cost and margin (option ChannelCostRatio)',
      },
      ...filterFlags,
    ],
    examples: ['logs stat --since 30d', 'logs stat --by model --since 24h'],
    load: async () => (await import('./reports.ts')).stat,
  },
  {
    name: 'logs export',
    zh: '导出日志',
    en: 'write logs, oldest first',
    flags: [{ flag: '--format <name>', zh: 'csv、jsonl（默认 csv）', en: 'csv, jsonl (default csv)' }, ...filterFlags],
    examples: ['logs export > logs.csv', 'logs export --format jsonl --since 24h > logs.jsonl'],
    load: async () => (await import('./reports.ts')).exportLogs,
  },
  {
    name: 'logs verify',
    zh: '由日志重算每笔费用并核对',
    en: 'recompute every charge from its log row',
    flags: filterFlags,
    examples: ['logs verify', 'logs verify --since 24h --json'],
    load: async () => (await import('./reports.ts')).verify,
  },
  {
    name: 'logs prune',
    alias: 'clear',
    zh: '删除旧日志',
    en: 'delete old log rows',
    flags: [{ flag: '--before <time>', zh: '早于：30d、日期', en: 'older than: 30d, a date' }, dryRun],
    examples: ['logs prune --before 90d', 'logs prune --before 2026-01-01 --yes'],
    load: async () => (await import('./reports.ts')).prune,
  },
];
