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
          {
            flag: '--new-prices',
            zh: '采用此处的模型价格（默认沿用来源的，包括其内置价格）',
            en: "models cost what they cost here; default: the source's prices, built-in ones too",
          },
        ]),
  ],
  examples: [`import ${from} ${one} --dry-run`, `import ${from} ${other} --data-dir ./fresh --yes`],
  load: async () => (await import('./import.ts')).importFrom(from),
}));
