import type { CommandRow, Flag } from '../../command.ts';

const group: Flag = { flag: '--group <name>', zh: '分组（默认 default）', en: 'group (default: default)' };

export const modelRows: readonly CommandRow[] = [
  {
    name: 'model list',
    zh: '模型、价格与渠道',
    en: 'models, their prices and channels',
    flags: [group],
    examples: ['model list', 'model list --group vip --json'],
    load: async () => (await import('./model.ts')).list,
  },
  {
    name: 'model explain',
    argument: '<model>',
    zh: '模型为何可用或不可用；在某渠道或上游：已知能力、改动与出处',
    en: 'why a model is available or not; at a channel or provider: what it takes',
    flags: [
      group,
      { flag: '--channel <id>', zh: '在此渠道', en: 'at this channel' },
      { flag: '--provider <slug>', zh: '在此类上游，如 mistral', en: 'at this kind of upstream, such as mistral' },
    ],
    examples: [
      'model explain gpt-4o',
      'model explain gpt-4o --group vip',
      'model explain mistral-large-latest --provider mistral',
      'model explain claude-opus-4-8 --channel 3 --json',
    ],
    load: async () => (await import('./model.ts')).explain,
  },
];
