import { type CommandRow, dryRun } from '../../command.ts';

export const tagRows: readonly CommandRow[] = [
  {
    name: 'tag list',
    zh: '标签列表',
    en: 'list tags of channels',
    examples: ['tag list', 'tag list --json'],
    load: async () => (await import('./tag.ts')).list,
  },
  {
    name: 'tag edit',
    argument: '<tag>',
    zh: '修改标签下的全部渠道',
    en: 'change every channel of a tag',
    flags: [
      { flag: '--rename <text>', zh: '新标签', en: 'new tag' },
      { flag: '--models <list>', zh: '模型', en: 'models' },
      { flag: '--group <list>', zh: '分组', en: 'groups' },
      { flag: '--priority <n>', zh: '优先级', en: 'priority' },
      { flag: '--weight <n>', zh: '权重', en: 'weight' },
      dryRun,
    ],
    examples: ['tag edit cheap --priority 10', 'tag edit cheap --rename backup'],
    load: async () => (await import('./tag.ts')).edit,
  },
  {
    name: 'tag enable',
    flags: [dryRun],
    argument: '<tag>',
    zh: '启用标签下的渠道',
    en: 'enable the channels of a tag',
    examples: ['tag enable cheap', 'tag enable cheap --json'],
    load: async () => (await import('./tag.ts')).enable,
  },
  {
    name: 'tag disable',
    flags: [dryRun],
    argument: '<tag>',
    zh: '禁用标签下的渠道',
    en: 'disable the channels of a tag',
    examples: ['tag disable cheap', 'tag disable cheap --json'],
    load: async () => (await import('./tag.ts')).disable,
  },
  {
    name: 'tag rm',
    flags: [dryRun],
    argument: '<tag>',
    zh: '移除标签，保留渠道',
    en: 'take a tag off its channels',
    examples: ['tag rm cheap', 'tag rm cheap --yes'],
    load: async () => (await import('./tag.ts')).remove,
  },
];
