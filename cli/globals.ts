/** Flags every command has, and what each noun is. */
import type { Flag } from './command.ts';

export const globals: readonly Flag[] = [
  {
    flag: '--json [fields]',
    zh: 'JSON 输出；--json=a,b 选字段，--json=? 列出字段',
    en: 'print JSON; --json=a,b selects fields, --json=? lists them',
  },
  { flag: '--jq <expression>', zh: '查询 JSON 输出', en: 'query the JSON output' },
  {
    flag: '-o, --output <format>',
    zh: 'table、json、jsonl、yaml、csv、id、env',
    en: 'table, json, jsonl, yaml, csv, id, env',
  },
  { flag: '--columns <list>', zh: '表格的列', en: 'columns of the table' },
  { flag: '--no-header', zh: '表格不带表头', en: 'tables without headings' },
  { flag: '--wide', zh: '表格不截断', en: 'do not cut tables to the width' },
  { flag: '-q, --quiet', zh: '只输出标识或密钥', en: 'print only ids or keys' },
  { flag: '--data-dir <path>', zh: '数据目录', en: 'data directory' },
  {
    flag: '--database <url>',
    zh: 'PostgreSQL 地址（默认 DATABASE_URL）',
    en: 'PostgreSQL database (default DATABASE_URL)',
  },
  {
    flag: '--url <address>',
    zh: '远程网关（令牌取自 GATEWAY_TOKEN）',
    en: 'remote gateway (token from GATEWAY_TOKEN)',
  },
  { flag: '--context <name>', zh: '已登录的远程网关', en: 'remote gateway one has logged in to' },
  { flag: '--token-stdin', zh: '从标准输入读取访问令牌', en: 'read the access token from stdin' },
  { flag: '--lang <language>', zh: '语言：zh、en', en: 'language: zh, en' },
  { flag: '-y, --yes', zh: '不再询问', en: 'do not ask' },
  { flag: '--non-interactive', zh: '从不询问', en: 'never ask' },
  { flag: '--timeout <seconds>', zh: '超时（默认 60s）', en: 'time limit (default 60s)' },
  {
    flag: '--color <when>',
    zh: '颜色：auto、always、never（也可用 --no-color）',
    en: 'auto, always, never; --no-color is never',
  },
  { flag: '-v, --verbose', zh: '显示每个调用', en: 'show every call' },
  { flag: '--debug', zh: '显示每个调用与堆栈', en: 'show every call, and stacks' },
];

export const nouns: Readonly<Record<string, Pick<Flag, 'zh' | 'en'>>> = {
  node: { zh: '多台机器中的节点', en: 'nodes of a site of several machines' },
  channel: { zh: '上游渠道', en: 'upstream channels' },
  tag: { zh: '渠道标签', en: 'tags of channels' },
  token: { zh: 'API 令牌', en: 'API keys' },
  'access-token': { zh: '访问令牌（权限范围）', en: 'access tokens with scopes' },
  user: { zh: '用户', en: 'users' },
  program: { zh: '已登录的程序', en: 'programs that are signed in' },
  'channel unsupported': {
    zh: '渠道上游不接受的单个参数',
    en: 'single members that the upstream of a channel does not take',
  },
  'channel key': { zh: '渠道的单个密钥', en: 'single keys of a channel' },
  'ratios proposals': { zh: '等待确认的价格', en: 'prices that wait for a word' },
  budget: { zh: '令牌、用户、分组与全站的预算', en: 'budgets of keys, users, groups and the site' },
  'user quota': { zh: '用户额度', en: "a user's quota" },
  alert: { zh: '告警', en: 'alerts for operators' },
  payment: { zh: '在线充值', en: 'online top-up' },
  schedule: { zh: '账单邮件', en: 'statements by mail' },
  link: { zh: '打开单据的链接', en: 'links that open documents' },
  invoice: { zh: '订单的发票', en: 'invoices of paid orders' },
  redemption: { zh: '兑换码', en: 'redemption codes' },
  option: { zh: '配置项', en: 'options' },
  ratios: { zh: '价格倍率', en: 'price ratios' },
  model: { zh: '模型', en: 'models' },
  'model chain': { zh: '虚拟模型', en: 'virtual models' },
  route: { zh: '路由', en: 'routing' },
  drawing: { zh: '绘图记录', en: 'drawings' },
  task: { zh: '任务记录', en: 'tasks' },
  logs: { zh: '使用日志', en: 'usage log' },
  ledger: { zh: '账本', en: 'the ledger' },
  audit: { zh: '操作审计', en: 'audit trail' },
  db: { zh: '数据库', en: 'the database' },
  backup: { zh: '备份', en: 'backups' },
  secrets: { zh: '主密钥', en: 'the master key' },
  service: { zh: '系统服务', en: 'system service' },
  import: { zh: '从其他网关迁入', en: 'move in from another gateway' },
  context: { zh: '远程网关', en: 'remote gateways' },
};

export const aliases: Readonly<Record<string, string>> = { list: 'ls', rm: 'delete', create: 'new', get: 'show' };

/** Headings of `gateway --help`, by what one wants to do; each command stands under one. */
export const tasks: readonly (Pick<Flag, 'zh' | 'en'> & { readonly names: readonly string[] })[] = [
  { zh: '开始', en: 'Begin', names: ['setup', 'serve', 'connect', 'chat', 'exec', 'env', 'agents'] },
  { zh: '观察', en: 'Watch', names: ['board', 'top', 'status', 'logs', 'doctor', 'support', 'alert', 'route'] },
  { zh: '上游', en: 'Upstreams', names: ['channel', 'tag', 'model', 'ratios'] },
  {
    zh: '用户与密钥',
    en: 'People and keys',
    names:
      'token user program budget access-token redemption payment invoice link statement schedule drawing task'.split(
        ' ',
      ),
  },
  { zh: '设置', en: 'Settings', names: ['option', 'apply', 'diff', 'export', 'import'] },
  {
    zh: '维护',
    en: 'Keep it running',
    names: ['backup', 'db', 'ledger', 'audit', 'secrets', 'node', 'service', 'upgrade', 'bench', 'mock-upstream'],
  },
  { zh: '远程与脚本', en: 'Elsewhere and in scripts', names: ['login', 'logout', 'whoami', 'context', 'api'] },
];

/** Whatever stands nowhere else. */
export const otherTask: Pick<Flag, 'zh' | 'en'> = { zh: '其他', en: 'More' };
