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
    zh: '模型为何可用或不可用',
    en: 'why a model is or is not available',
    flags: [group],
    examples: ['model explain gpt-4o', 'model explain gpt-4o --group vip'],
    load: async () => (await import('./model.ts')).explain,
  },
];
