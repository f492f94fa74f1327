import type { CommandRow } from '../../command.ts';

const sources = [
  [
    'new-api',
    'one-api.db',
    'dump.sql',
    '从 new-api 迁入：SQLite 文件或数据库转储',
    'move in from new-api: SQLite file or SQL dump',
  ],
  [
    'one-api',
    'one-api.db',
    'dump.sql',
    '从 one-api 迁入：SQLite 文件或数据库转储',
    'move in from one-api: SQLite file or SQL dump',
  ],
  [
    'litellm',
    'config.yaml',
    'config.yml',
    '从 LiteLLM 配置迁入渠道与价格',
    "take channels and prices from LiteLLM's file",
  ],
] as const;

export const importRows: readonly CommandRow[] = sources.map(([from, one, other, zh, en]) => ({
  name: `import ${from}`,
  argument: '<file>',
  zh,
  en,
  flags: [
    { flag: '--dry-run', zh: '只预演', en: 'write nothing' },
    ...(from === 'litellm'
      ? []
      : [
          {
            flag: '--only <list>',
            zh: '只迁入：users,tokens,channels,codes,ratios,logs',
            en: 'only these: users,tokens,channels,codes,ratios,logs',
          },
        ]),
  ],
  examples: [`import ${from} ${one} --dry-run`, `import ${from} ${other} --data-dir ./fresh`],
  load: async () => (await import('./import.ts')).importFrom(from),
}));
