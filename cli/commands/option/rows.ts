import type { CommandRow } from '../../command.ts';

export const optionRows: readonly CommandRow[] = [
  {
    name: 'option list',
    zh: '全部配置项',
    en: 'list options',
    flags: [{ flag: '--show-origin', zh: '显示值的来源', en: 'show where each value comes from' }],
    examples: ['option list', 'option list --show-origin --json'],
    load: async () => (await import('./option.ts')).list,
  },
  {
    name: 'option get',
    argument: '<key>',
    zh: '读取配置项',
    en: 'print one option',
    examples: ['option get RetryTimes', 'option get GroupRatio'],
    load: async () => (await import('./option.ts')).get,
  },
  {
    name: 'option set',
    argument: '<key=value...>',
    zh: '修改配置项：KEY=VALUE、KEY=@文件、KEY=-',
    en: 'set options: KEY=VALUE, KEY=@FILE, KEY=-',
    examples: ['option set RetryTimes=2', 'option set SMTPToken=- < token.txt'],
    load: async () => (await import('./option.ts')).set,
  },
  {
    name: 'option unset',
    argument: '<key...>',
    zh: '恢复配置项默认值',
    en: 'put options back to their defaults',
    examples: ['option unset RetryTimes', 'option unset SMTPToken'],
    load: async () => (await import('./option.ts')).unset,
  },
  {
    name: 'option describe',
    argument: '[key]',
    zh: '配置项的类型与默认值',
    en: 'type, default and meaning of options',
    examples: ['option describe RetryTimes', 'option describe --json'],
    load: async () => (await import('./option.ts')).describe,
  },
  {
    name: 'option export',
    zh: '导出已修改的配置项（不含机密）',
    en: 'write stored options, secrets left out',
    examples: ['option export > options.json', 'option export --url https://gateway.example.com'],
    load: async () => (await import('./option.ts')).exportAll,
  },
  {
    name: 'option import',
    argument: '<file>',
    zh: '导入配置项（JSON 或 KEY=VALUE 行）',
    en: 'set options from JSON or KEY=VALUE lines',
    examples: ['option import options.json', 'option import - < options.env'],
    load: async () => (await import('./option.ts')).importAll,
  },
];
