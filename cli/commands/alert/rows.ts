import type { CommandRow } from '../../command.ts';

export const alertRows: readonly CommandRow[] = [
  {
    name: 'alert list',
    zh: '当前的问题，以及会通知谁',
    en: 'open alerts and their recipients',
    examples: ['alert list', 'alert list --json'],
    load: async () => (await import('./alert.ts')).list,
  },
  {
    name: 'alert test',
    zh: '向每个告警目标发送测试',
    en: 'send a test to every target',
    examples: ['alert test', 'alert test --json'],
    load: async () => (await import('./alert.ts')).test,
  },
];
