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
    name: 'alert rules',
    argument: '[kind]',
    zh: '以句子显示告警规则，并预览其过去七天会发出什么',
    en: 'show alert rules as sentences, and what they would have said in 7 days',
    flags: [
      { flag: '--preview', zh: '计算过去七天会发出的告警', en: 'compute what it would have said in the last 7 days' },
      {
        flag: '--try <name=value...>',
        zh: '预览时使用这些值而不保存，如 failed_percent=5',
        en: 'use these values for the preview without storing them, such as failed_percent=5',
      },
    ],
    examples: [
      'alert rules',
      'alert rules errors_high --preview',
      'alert rules errors_high --preview --try failed_percent=5',
    ],
    load: async () => (await import('./rules.ts')).rules,
  },
  {
    name: 'alert test',
    zh: '向每个告警目标发送测试',
    en: 'send a test to every target',
    examples: ['alert test', 'alert test --json'],
    load: async () => (await import('./alert.ts')).test,
  },
];
