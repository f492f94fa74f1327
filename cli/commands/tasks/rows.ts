import type { CommandRow, Flag } from '../../command.ts';

const shared: readonly Flag[] = [
  { flag: '--channel <id>', zh: '只看一个渠道', en: 'of one channel' },
  { flag: '--since <when>', zh: '从何时起，如 1h、7d', en: 'since when, such as 1h or 7d' },
  { flag: '--limit <n>', zh: '条数（默认 20）', en: 'rows (default 20)' },
];

export const taskRows: readonly CommandRow[] = [
  {
    name: 'drawing list',
    zh: '绘图记录，最新在前',
    en: 'drawings, newest first',
    flags: [{ flag: '--id <mj-id>', zh: '一个任务', en: 'one drawing' }, ...shared],
    examples: ['drawing list --since 1d', 'drawing list --id 1234 --json'],
    load: async () => (await import('./tasks.ts')).drawings,
  },
  {
    name: 'drawing get',
    argument: '<mj-id>',
    zh: '一条绘图记录',
    en: 'show one drawing',
    examples: ['drawing get 1234', 'drawing get 1234 --json'],
    load: async () => (await import('./tasks.ts')).drawing,
  },
  {
    name: 'task list',
    zh: '任务记录，最新在前',
    en: 'tasks, newest first',
    flags: [
      { flag: '--id <task-id>', zh: '一个任务', en: 'one task' },
      { flag: '--status <status>', zh: '状态，如 SUCCESS', en: 'status, such as SUCCESS' },
      ...shared,
    ],
    examples: ['task list --status FAILURE', 'task list --since 1h --json'],
    load: async () => (await import('./tasks.ts')).tasks,
  },
  {
    name: 'task get',
    argument: '<task-id>',
    zh: '一条任务记录',
    en: 'show one task',
    examples: ['task get 1234', 'task get 1234 --json'],
    load: async () => (await import('./tasks.ts')).task,
  },
];
