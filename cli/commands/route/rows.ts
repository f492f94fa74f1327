import type { CommandRow } from '../../command.ts';

export const routeRows: readonly CommandRow[] = [
  {
    name: 'route explain',
    argument: '<model>',
    zh: '请求会发往哪些渠道，为什么',
    en: 'which channels a request would go to, and why',
    flags: [
      { flag: '--group <name>', zh: '分组（默认 default）', en: 'group (default: default)' },
      { flag: '--token <name>', zh: '按此令牌的分组', en: "the group of this token's requests" },
    ],
    examples: ['route explain gpt-4o', 'route explain gpt-4o --token laptop --json'],
    load: async () => (await import('./route.ts')).explain,
  },
];
