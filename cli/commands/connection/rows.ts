import { type CommandRow, dryRun, type Flag } from '../../command.ts';

const audience: Flag = {
  flag: '--for <program>',
  zh: 'openai、anthropic、gemini 或智能体名',
  en: 'openai, anthropic, gemini or an agent',
};
const model: Flag = {
  flag: '-m, --model <name>',
  zh: '智能体使用的模型（默认为其挑选）',
  en: 'model for the agent (default: chosen for it)',
};
const token: Flag = {
  flag: '--token <name>',
  zh: '令牌（默认第一个可用的）',
  en: 'token (default: the first enabled)',
};

export const connectionRows: readonly CommandRow[] = [
  {
    name: 'env',
    zh: '打印 SDK 与编程智能体所需的环境变量',
    en: 'environment for SDKs and coding agents',
    flags: [audience, token, { flag: '--shell <name>', zh: 'sh、fish、powershell', en: 'sh, fish, powershell' }],
    examples: ['env --for claude', 'env --shell fish | source'],
    load: async () => (await import('./clients.ts')).env,
  },
  {
    name: 'exec',
    argument: '<command...>',
    zh: '通过网关运行程序；编程智能体无需配置',
    en: 'run a program through the gateway; agents need no setup',
    flags: [audience, token, model],
    passThrough: true,
    examples: ['exec -- claude', 'exec --token laptop -- python script.py'],
    load: async () => (await import('./clients.ts')).exec,
  },
  {
    name: 'agents',
    argument: '[name]',
    zh: '各编程智能体自己的配置',
    en: 'lines for the configuration of each agent',
    flags: [token, model],
    examples: ['agents', 'agents codex --token laptop'],
    load: async () => (await import('./clients.ts')).list,
  },
  {
    name: 'connect',
    argument: '[agent...]',
    zh: '把编程智能体的配置文件接到网关，并可恢复原样',
    en: 'set up agents in their own files, and restore these',
    flags: [
      {
        flag: '--token <name>',
        zh: '令牌（默认为每个程序各建一个）',
        en: 'token (default: one made for each program)',
      },
      model,
      dryRun,
      {
        flag: '--browser',
        zh: 'Codex 启动时在浏览器中登录（需要密钥环）',
        en: 'Codex signs in by the browser when it starts (needs a keyring)',
      },
      { flag: '--undo', zh: '恢复原来的文件', en: 'restore the files as they were' },
      { flag: '--force', zh: '恢复时放弃之后的改动', en: 'with --undo: give up what was changed since' },
    ],
    examples: ['connect', 'connect claude codex --dry-run', 'connect codex --browser', 'connect codex --undo'],
    load: async () => (await import('./connect.ts')).connect,
  },
  {
    name: 'chat',
    argument: '[prompt...]',
    zh: '通过网关提一个问题',
    en: 'ask one question through the gateway',
    flags: [
      { flag: '-m, --model <name>', zh: '模型', en: 'model' },
      token,
      { flag: '--raw', zh: '显示原始流', en: 'show the stream as it comes' },
    ],
    examples: ['chat -m gpt-4o-mini "hello"', 'chat - < prompt.txt'],
    load: async () => (await import('./clients.ts')).chat,
  },
  {
    name: 'api',
    argument: '<path...>',
    zh: '直接调用管理接口：[方法] 路径',
    en: 'call the HTTP API: [METHOD] PATH',
    flags: [
      { flag: '-f, --field <fields>', zh: '字段 a=1&b=x', en: 'fields a=1&b=x' },
      { flag: '--input <file>', zh: 'JSON 请求体，- 为标准输入', en: 'JSON body; - is standard input' },
    ],
    examples: ['api /api/status', 'api PUT /api/option/ -f "key=RetryTimes&value=2"'],
    load: async () => (await import('./api.ts')).api,
  },
  {
    name: 'login',
    argument: '<url>',
    zh: '登录远程网关，使用代码或访问令牌',
    en: 'log in to a remote gateway by a code or an access token',
    flags: [
      { flag: '--token-stdin', zh: '从标准输入读取访问令牌', en: 'read the access token from standard input' },
      { flag: '--token-file <path>', zh: '从文件读取访问令牌', en: 'read the access token from a file' },
      { flag: '--user <id>', zh: '用户编号（默认 1）', en: 'user id (default 1)' },
      { flag: '--name <text>', zh: '名称', en: 'name for it' },
    ],
    examples: [
      'login https://gateway.example.com',
      'login https://gateway.example.com --token-stdin < token',
      'login http://10.0.0.2:3000 --user 2',
    ],
    load: async () => (await import('./login.ts')).login,
  },
  {
    name: 'token print',
    zh: '打印编程工具使用的短期令牌，必要时续期',
    en: 'print the short-lived token that a coding agent sends, renewed when it has to be',
    flags: [
      {
        flag: '--for <agent>',
        zh: '由哪个程序使用：claude、codex、opencode',
        en: 'who uses it: claude, codex, opencode',
      },
      {
        flag: '--kept',
        zh: '一天内有效，供自己保存令牌的程序使用',
        en: 'one that works for a day, for programs that keep it',
      },
    ],
    examples: ['token print', 'token print --for codex'],
    load: async () => (await import('./login.ts')).printToken,
  },
  {
    name: 'statusline',
    zh: '为编程智能体的状态栏打印一行：今日用量与预算',
    en: 'print one line for the status line of an agent: what its key has spent today, and its budgets',
    examples: ['statusline', 'statusline --json'],
    load: async () => (await import('./statusline.ts')).statusline,
  },
  {
    name: 'logout',
    zh: '退出当前远程网关',
    en: 'log out of the current remote gateway',
    examples: ['logout', 'logout --json'],
    load: async () => (await import('./login.ts')).logout,
  },
  {
    name: 'whoami',
    zh: '正在以谁的身份操作哪个网关',
    en: 'which gateway, and as whom',
    examples: ['whoami', 'whoami --json'],
    load: async () => (await import('./login.ts')).whoami,
  },
  {
    name: 'context list',
    zh: '已登录的远程网关',
    en: 'list remote gateways you have logged in to',
    examples: ['context list', 'context list --json'],
    load: async () => (await import('./login.ts')).list,
  },
  {
    name: 'context use',
    argument: '<name>',
    zh: '切换网关，local 为本机',
    en: 'choose one; local is this machine',
    examples: ['context use gateway.example.com', 'context use local'],
    load: async () => (await import('./login.ts')).use,
  },
  {
    name: 'context rm',
    argument: '<name>',
    zh: '移除一个网关',
    en: 'forget one',
    examples: ['context rm gateway.example.com', 'context rm staging --json'],
    load: async () => (await import('./login.ts')).remove,
  },
];
