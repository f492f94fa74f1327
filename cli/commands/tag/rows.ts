import { type CommandRow, dryRun } from '../../command.ts';
import { verbRows } from '../../resource.ts';

const { list, enable, disable, rm } = verbRows(
  {
    name: 'tag',
    zh: '标签下的渠道',
    en: 'the channels of a tag',
    one: 'tag',
    argument: ['<tag>', '<tag>'],
    samples: ['cheap', 'cheap'],
    load: () => import('./tag.ts'),
  },
  ['list', 'enable', 'disable', 'rm'],
);

export const tagRows: readonly CommandRow[] = [
  { ...list, zh: '标签列表', en: 'list tags of channels' },
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
  enable,
  disable,
  { ...rm, zh: '移除标签，保留渠道', en: 'take a tag off its channels' },
];
