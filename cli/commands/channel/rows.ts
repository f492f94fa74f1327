import type { CommandRow, Flag } from '../../command.ts';

const keyFlags: readonly Flag[] = [
  { flag: '--key-stdin', zh: '从标准输入读取密钥', en: 'read the key from standard input' },
  { flag: '--key-file <path>', zh: '从文件读取密钥', en: 'read the key from a file' },
];

const fields: readonly Flag[] = [
  { flag: '--type <name>', zh: '渠道类型（名称或编号）', en: 'provider, by name or number' },
  { flag: '--name <text>', zh: '名称', en: 'name' },
  ...keyFlags,
  { flag: '--models <list>', zh: '模型，逗号分隔', en: 'models, comma separated' },
  { flag: '--group <list>', zh: '分组，逗号分隔', en: 'groups, comma separated' },
  { flag: '--base-url <url>', zh: '上游地址', en: "upstream's address" },
  { flag: '--priority <n>', zh: '优先级', en: 'priority' },
  { flag: '--weight <n>', zh: '权重', en: 'weight' },
  { flag: '--tag <text>', zh: '标签', en: 'tag' },
  { flag: '--mapping <json>', zh: '模型映射（JSON）', en: 'model mapping (JSON)' },
  { flag: '--override <json>', zh: '参数覆盖（JSON）', en: 'parameter overrides (JSON)' },
  { flag: '--test-model <name>', zh: '测试模型', en: 'model for tests' },
];

const choice: readonly Flag[] = [
  { flag: '--all', zh: '全部渠道', en: 'every channel' },
  { flag: '--tag <text>', zh: '带此标签的渠道', en: 'channels with this tag' },
  { flag: '--filter <list>', zh: '如 status=enabled,group=vip', en: 'such as status=enabled,group=vip' },
];

export const channelRows: readonly CommandRow[] = [
  {
    name: 'channel add',
    zh: '添加渠道（终端中不带参数则显示表单）',
    en: 'add an upstream channel; without flags a form on a terminal',
    flags: [
      ...fields,
      { flag: '--if-exists <mode>', zh: '同名时：error、skip、update', en: 'same name and type: error, skip, update' },
    ],
    examples: [
      'channel add --type openai --name main --key-stdin < key.txt',
      'channel add --name try --key-file k --type practice',
    ],
    load: async () => (await import('./add.ts')).add,
  },
  {
    name: 'channel list',
    zh: '渠道列表',
    en: 'list channels',
    flags: choice.slice(2),
    examples: ['channel list', 'channel list --filter status=auto-disabled --json'],
    load: async () => (await import('./manage.ts')).list,
  },
  {
    name: 'channel get',
    argument: '<id>',
    zh: '渠道详情',
    en: 'show one channel',
    examples: ['channel get 1', 'channel get main --json'],
    load: async () => (await import('./manage.ts')).get,
  },
  {
    name: 'channel edit',
    argument: '<id>',
    zh: '修改渠道',
    en: 'change a channel',
    flags: fields,
    examples: ['channel edit 1 --priority 10', 'channel edit main --models gpt-4o,gpt-4o-mini'],
    load: async () => (await import('./add.ts')).edit,
  },
  {
    name: 'channel copy',
    argument: '<id>',
    zh: '以新密钥复制渠道',
    en: 'copy a channel under a new key',
    flags: [{ flag: '--name <text>', zh: '新名称', en: 'new name' }, ...keyFlags],
    examples: ['channel copy main --key-stdin < key2.txt', 'channel copy 1 --name spare --key-file key2.txt'],
    load: async () => (await import('./add.ts')).copy,
  },
  {
    name: 'channel test',
    argument: '[id...]',
    zh: '用真实请求测试渠道',
    en: 'test channels with a real request',
    flags: [
      ...choice,
      { flag: '--model <name>', zh: '模型', en: 'model' },
      { flag: '--stream', zh: '流式', en: 'streamed' },
      { flag: '--concurrency <n>', zh: '同时进行的数量（默认 4）', en: 'tests at once (default 4)' },
    ],
    examples: ['channel test 1', 'channel test --all --stream'],
    load: async () => (await import('./test.ts')).test,
  },
  {
    name: 'channel models',
    argument: '<id>',
    zh: '渠道的模型',
    en: 'models of a channel',
    examples: ['channel models 1', 'channel models main --json'],
    load: async () => (await import('./manage.ts')).models,
  },
  {
    name: 'channel enable',
    argument: '[id...]',
    zh: '启用渠道',
    en: 'enable channels',
    flags: choice,
    examples: ['channel enable 1', 'channel enable --tag cheap'],
    load: async () => (await import('./manage.ts')).enable,
  },
  {
    name: 'channel disable',
    argument: '[id...]',
    zh: '禁用渠道',
    en: 'disable channels',
    flags: choice,
    examples: ['channel disable 1 2', 'channel disable main'],
    load: async () => (await import('./manage.ts')).disable,
  },
  {
    name: 'channel rm',
    argument: '[id...]',
    zh: '删除渠道',
    en: 'delete channels',
    flags: choice,
    examples: ['channel rm 1', 'channel rm --filter status=disabled --yes'],
    load: async () => (await import('./manage.ts')).remove,
  },
  {
    name: 'channel export',
    zh: '导出渠道（不含密钥）',
    en: 'write channels as JSON, without keys',
    examples: ['channel export > channels.json', 'channel export --url https://gateway.example.com'],
    load: async () => (await import('./manage.ts')).exportAll,
  },
  {
    name: 'channel import',
    argument: '<file>',
    zh: '导入渠道（JSON 数组，含 key）',
    en: 'create channels from a JSON array with keys',
    examples: ['channel import channels.json', 'channel import - < channels.json'],
    load: async () => (await import('./manage.ts')).importAll,
  },
];
