import { doubleNames } from '../../../server/practice/strict/names.ts';
import type { CommandRow } from '../../command.ts';

export const siteRows: readonly CommandRow[] = [
  {
    name: 'serve',
    zh: '启动网关',
    en: 'run the gateway',
    flags: [
      { flag: '--port <n>', zh: '端口（默认 3000）', en: 'port (default 3000)' },
      { flag: '--open', zh: '在浏览器中打开控制台', en: 'open the console in a browser' },
      { flag: '--json-logs', zh: '启动信息也用 JSON 行', en: 'what serving says as JSON lines' },
      {
        flag: '--grace <seconds>',
        zh: '停止时等待进行中的请求（默认 30）',
        en: 'what open requests get when it stops (default 30)',
      },
      {
        flag: '--relays <n|auto>',
        zh: '转发线程数（默认 auto：按 CPU 核数）',
        en: 'relay threads (default auto: by the number of cores)',
      },
      {
        flag: '--metrics <address>',
        zh: '在 [主机:]端口 提供 Prometheus 指标',
        en: 'Prometheus metrics at [host:]port',
      },
      { flag: '--host <address>', zh: '监听地址（默认 127.0.0.1）', en: 'address to listen on (default 127.0.0.1)' },
    ],
    examples: ['serve', 'serve --port 4000 --data-dir /var/lib/gateway'],
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'setup',
    zh: '首次初始化（终端中不带参数则为向导）',
    en: 'set up for the first time; a wizard on a terminal',
    flags: [
      { flag: '--username <name>', zh: '管理员用户名', en: "administrator's username" },
      { flag: '--password-stdin', zh: '从标准输入读取密码', en: 'read the password from standard input' },
      { flag: '--password-file <path>', zh: '从文件读取密码', en: 'read the password from a file' },
      {
        flag: '--code <code>',
        zh: '与 --url 一起：服务启动时打印的初始化验证码',
        en: 'with --url: the set-up code the server printed at start',
      },
      { flag: '--mode <mode>', zh: '使用模式：external、self-use、demo', en: 'external, self-use, demo' },
      { flag: '--channel-type <name>', zh: '同时添加渠道：类型', en: 'add a channel too: provider' },
      { flag: '--channel-name <text>', zh: '渠道名称', en: 'its name' },
      { flag: '--channel-base-url <url>', zh: '上游地址', en: "upstream's address" },
      { flag: '--channel-key-stdin', zh: '从标准输入读取渠道密钥', en: 'read its key from standard input' },
      { flag: '--channel-key-file <path>', zh: '从文件读取渠道密钥', en: 'read its key from a file' },
      { flag: '--token-name <text>', zh: '同时创建令牌', en: 'create a token too' },
    ],
    examples: [
      'setup --username root --password-stdin < password.txt',
      'setup --username root --password-file pw --mode self-use',
    ],
    load: async () => (await import('./setup.ts')).setup,
  },
  {
    name: 'status',
    zh: '运行概况',
    en: 'overview of this gateway',
    flags: [
      { flag: '--watch', zh: '持续显示', en: 'keep showing it' },
      { flag: '--check', zh: '有禁用渠道时退出码 8', en: 'exit 8 when channels are disabled' },
    ],
    examples: ['status', 'status --json'],
    load: async () => (await import('./status.ts')).status,
  },
  {
    name: 'doctor',
    zh: '检查常见问题并给出处理方法',
    en: 'look for common troubles and say what helps',
    flags: [{ flag: '--fix', zh: '修复权限', en: 'repair rights of files that others may read' }],
    examples: ['doctor --fix', 'doctor --json'],
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'service print',
    argument: '[kind]',
    zh: '打印 systemd、container、launchd 配置',
    en: 'print a file for systemd, container or launchd',
    flags: [{ flag: '--port <n>', zh: '端口', en: 'port' }],
    examples: ['service print > /etc/systemd/system/gateway.service', 'service print container > Containerfile'],
    load: async () => (await import('./service.ts')).print,
  },
  {
    name: 'mock-upstream',
    zh: '练习上游：无需真实密钥即可试用',
    en: "practice upstream: try the product without a provider's key",
    flags: [
      { flag: '--port <n>', zh: '端口（默认 4010）', en: 'port (default 4010)' },
      { flag: '--latency <ms>', zh: '首字节延迟', en: 'milliseconds before the first byte' },
      { flag: '--tokens-per-second <n>', zh: '流速', en: 'speed of streams' },
      { flag: '--chunks <n>', zh: '流的块数', en: 'chunks of a stream' },
      { flag: '--error-rate <share>', zh: '失败比例 0 到 1', en: 'share of failing requests, 0 to 1' },
      { flag: '--no-usage', zh: '不报告用量', en: 'report no usage' },
      { flag: '--cut-after <n>', zh: '在第 n 块后中断', en: 'break off after n chunks' },
      {
        flag: '--as <provider>',
        zh: `扮演的上游：${doubleNames.join('、')}；打印地址和密钥`,
        en: `play this provider: ${doubleNames.join(', ')}; prints its address and key`,
      },
      {
        flag: '--strict',
        zh: '与 --as 同用：拒绝该上游会拒绝的请求，并说明依据的规则',
        en: 'with --as: refuse what that provider refuses, and say by which rule',
      },
    ],
    examples: [
      'mock-upstream --port 4010',
      'mock-upstream --latency 300 --tokens-per-second 40',
      'mock-upstream --as anthropic --strict',
    ],
    load: async () => (await import('./mock-upstream.ts')).mockUpstream,
  },
];
