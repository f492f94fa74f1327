import { type CommandRow, dryRun, type Flag } from '../../command.ts';
import { verbRows } from '../../resource.ts';

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
  { flag: '--base-url <url>', zh: '上游地址，default 为官方地址', en: "upstream's address; default is the maker's" },
  { flag: '--priority <n>', zh: '优先级', en: 'priority' },
  { flag: '--weight <n>', zh: '权重', en: 'weight' },
  { flag: '--tag <text>', zh: '标签，留空则删除', en: 'tag; empty removes it', clears: true },
  { flag: '--mapping <json>', zh: '模型映射（JSON 或 @文件）', en: 'model mapping (JSON or @FILE)' },
  { flag: '--override <json>', zh: '参数覆盖（JSON 或 @文件）', en: 'parameter overrides (JSON or @FILE)' },
  {
    flag: '--allow-tiers <on|off>',
    zh: '允许按倍率计费的服务等级、速度和区域',
    en: 'let priced service tiers, speeds and regions through',
  },
  {
    flag: '--cache-marks <on|off>',
    zh: '上游接受 cache_control 缓存标记',
    en: 'the upstream takes cache_control marks',
  },
  {
    flag: '--system-messages <mode>',
    zh: '上游可接受系统消息的位置：first、anywhere、default',
    en: 'where the upstream takes system messages: first, anywhere, default',
  },
  {
    flag: '--streams <mode>',
    zh: '上游的回答方式是否为流式：always、never、default',
    en: 'whether the upstream streams: always, never, default',
  },
  {
    flag: '--unknown-ids <mode>',
    zh: '归属未知的编号：allow、refuse、default',
    en: 'ids of unknown owners: allow, refuse, default',
  },
  {
    flag: '--trusted-usage <mode>',
    zh: '上游上报的用量可作为少预扣的依据：on、off、default',
    en: 'what it reports of usage lets requests hold less: on, off, default',
  },
  {
    flag: '--bill-answered <mode>',
    zh: '应答模型更便宜时按它计费：on、off',
    en: 'charge a cheaper model that answered: on, off',
  },
  {
    flag: '--cache-diagnosis <mode>',
    zh: '询问上游缓存未命中的原因：on、off',
    en: 'ask the upstream why its cache was missed: on, off',
  },
  {
    flag: '--region <name>',
    zh: '价格区域，留空则删除',
    en: 'region whose price factor holds; empty removes it',
    clears: true,
  },
  {
    flag: '--dialect <name>',
    zh: '与上游使用的协议，auto 为自动选择',
    en: 'protocol used to call the upstream (default auto)',
  },
  {
    flag: '--key-mode <mode>',
    zh: '多个密钥同属一个渠道时的用法：turn、random',
    en: 'how one channel uses several keys: turn, random',
  },
  {
    flag: '--first-byte-seconds <n>',
    zh: '该渠道首字节最长等待，0 为通用设置',
    en: 'longest wait for a first byte there; 0 is the general limit',
  },
  {
    flag: '--idle-seconds <n>',
    zh: '该渠道最长静默，0 为通用设置',
    en: 'longest silence there; 0 is the general limit',
  },
  {
    flag: '--off-after <rule>',
    zh: '如 5/10/2：10 分钟内错 5 次停 2 分钟；default 通用',
    en: 'such as 5/10/2: a model or a key is out after 5 errors within 10 minutes, and probed after 2; default is the general rule',
  },
  { flag: '--test-model <name>', zh: '测试模型，留空则删除', en: 'model for tests; empty removes it', clears: true },
];

const choice: readonly Flag[] = [
  { flag: '--all', zh: '全部渠道', en: 'every channel' },
  { flag: '--tag <text>', zh: '带此标签的渠道', en: 'channels with this tag' },
  { flag: '--filter <list>', zh: '如 status=enabled,group=vip', en: 'such as status=enabled,group=vip' },
];

const { list, get, enable, disable, rm } = verbRows(
  {
    name: 'channel',
    zh: '渠道',
    en: 'channels',
    one: 'channel',
    argument: ['<id>', '[id...]'],
    samples: ['1', 'main'],
    flags: { list: choice.slice(2), enable: choice, disable: choice, rm: choice },
    example: {
      list: 'channel list --filter status=auto-disabled --json',
      enable: 'channel enable --tag cheap',
      rm: 'channel rm --filter status=disabled --yes',
    },
    load: () => import('./manage.ts'),
  },
  ['list', 'get', 'enable', 'disable', 'rm'],
);

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
  list,
  get,
  {
    name: 'channel edit',
    argument: '[id...]',
    zh: '修改渠道，可一次多个',
    en: 'change channels, several at once',
    flags: [...fields, ...choice.filter(({ flag }) => !flag.startsWith('--tag')), dryRun],
    examples: ['channel edit main --models gpt-4o,gpt-4o-mini', 'channel edit --filter tag=cheap --priority 10'],
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
    flags: [
      { flag: '--fetch', zh: '向上游查询', en: 'ask its upstream' },
      { flag: '--set', zh: '查询并设为渠道的模型', en: 'ask, and serve these from now on' },
    ],
    examples: ['channel models 1', 'channel models main --fetch --json'],
    load: async () => (await import('./manage.ts')).models,
  },
  {
    name: 'channel balance',
    argument: '[id...]',
    zh: '查询上游余额',
    en: 'ask upstreams for their balance',
    flags: choice,
    examples: ['channel balance 1', 'channel balance --all'],
    load: async () => (await import('./manage.ts')).balance,
  },
  {
    name: 'channel keys',
    argument: '<id>',
    zh: '渠道各个密钥的状态',
    en: 'keys of a channel and how each is doing',
    examples: ['channel keys main', 'channel keys 1 --json'],
    load: async () => (await import('./keys.ts')).list,
  },
  {
    name: 'channel key test',
    argument: '<id> <key>',
    zh: '单独测试一个密钥',
    en: 'test one key with a real request',
    flags: [
      { flag: '--model <name>', zh: '模型', en: 'model' },
      { flag: '--stream', zh: '流式', en: 'streamed' },
    ],
    examples: ['channel key test main 3f2a9c01de', 'channel key test 1 sk-a…wxyz --stream'],
    load: async () => (await import('./keys.ts')).test,
  },
  {
    name: 'channel key enable',
    argument: '<id> <key>',
    zh: '启用一个密钥',
    en: 'switch one key on',
    examples: ['channel key enable main 3f2a9c01de', 'channel key enable 1 sk-a…wxyz --json'],
    load: async () => (await import('./keys.ts')).enable,
  },
  {
    name: 'channel key disable',
    argument: '<id> <key>',
    zh: '停用一个密钥，其余照常使用',
    en: 'switch one key off; the others stay in use',
    examples: ['channel key disable main 3f2a9c01de', 'channel key disable 1 sk-a…wxyz --json'],
    load: async () => (await import('./keys.ts')).disable,
  },
  {
    name: 'channel unsupported list',
    argument: '<id>',
    zh: '渠道上游不接受的参数',
    en: 'members that the upstream of a channel does not take',
    examples: ['channel unsupported list main', 'channel unsupported list 1 --json'],
    load: async () => (await import('./unsupported.ts')).list,
  },
  {
    name: 'channel unsupported add',
    argument: '<id> <model> <member>',
    zh: '手动记录一个上游不接受的参数',
    en: 'note a member that the upstream does not take',
    examples: [
      'channel unsupported add main gpt-5.1 openai-chat:temperature',
      'channel unsupported add 1 o3 openai-chat:reasoning_effort=xhigh',
    ],
    load: async () => (await import('./unsupported.ts')).add,
  },
  {
    name: 'channel unsupported confirm',
    argument: '<id> <model> <member>',
    zh: '确认一个参数：对所有请求生效，不再过期',
    en: 'confirm a member: it holds for every request, and stays',
    examples: [
      'channel unsupported confirm main gpt-5.1 openai-chat:temperature',
      'channel unsupported confirm 1 gpt-5.1 openai-chat:seed --json',
    ],
    load: async () => (await import('./unsupported.ts')).confirm,
  },
  {
    name: 'channel unsupported rm',
    argument: '<id> <model> <member>',
    zh: '删除一个参数，今后照常发送',
    en: 'delete a member: it is sent again',
    examples: [
      'channel unsupported rm main gpt-5.1 openai-chat:temperature',
      'channel unsupported rm 1 gpt-5.1 openai-chat:seed --json',
    ],
    load: async () => (await import('./unsupported.ts')).remove,
  },
  {
    name: 'channel probe',
    argument: '<id>',
    zh: '用二十来个小额付费请求询问上游接受什么',
    en: 'ask the upstream what it takes, by some twenty small paid requests',
    flags: [
      { flag: '--model <name>', zh: '模型', en: 'model' },
      { flag: '--store', zh: '把差异记为渠道的设置', en: "store the differences as the channel's own rows" },
    ],
    examples: ['channel probe main', 'channel probe 1 --model gpt-5.1 --yes --store'],
    load: async () => (await import('./unsupported.ts')).probe,
  },
  enable,
  disable,
  rm,
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
    flags: [dryRun],
    examples: ['channel import channels.json', 'channel import - < channels.json'],
    load: async () => (await import('./manage.ts')).importAll,
  },
];
