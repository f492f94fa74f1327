/** What the product promises, and the tests that would fail if it did not hold. */
export interface PromiseRow {
  readonly en: string;
  readonly zh: string;
  /** Files below `tests/`; a folder stands for all in it. */
  readonly tests: readonly string[];
  /** Commands that show the same on one's own machine. */
  readonly commands?: readonly string[];
}

export const promises: readonly PromiseRow[] = [
  {
    en: 'the bytes of a stream reach the client as the upstream sent them',
    zh: '流的字节原样到达客户端',
    tests: ['tests/relay/relay.test.ts', 'tests/protocols/sse.test.ts'],
  },
  {
    en: 'no route skips a rule, wherever the key stands',
    zh: '无论密钥放在哪里，没有一条路由绕过任何规则',
    tests: ['tests/relay/admission-matrix.test.ts'],
  },
  {
    en: 'every client dialect works on every kind of upstream',
    zh: '每种客户端方言都能用于每类上游',
    tests: ['tests/protocols/matrix.test.ts', 'tests/relay/translation.test.ts', 'tests/binary/sdk-grid.test.ts'],
  },
  {
    en: 'requests of real agents reach an upstream untouched, and what a translation loses is listed',
    zh: '真实智能体的请求原样到达上游，转换所丢失的都被列出',
    tests: ['tests/relay/captures.test.ts', 'tests/protocols/losses.test.ts'],
  },
  {
    en: 'a model or provider is told nothing that it refuses: words, bounds and names of members are rows with their sources, and every change stands in the log row',
    zh: '不向模型或上游发送其拒绝的内容：词、范围与字段名都是带出处的数据行，每处改动都记在日志行里',
    tests: ['tests/providers/knowledge.test.ts', 'tests/protocols/targets.test.ts', 'tests/relay/knowledge.test.ts'],
    commands: ['gateway model explain'],
  },
  {
    en: 'official SDKs get through to twenty-four providers that are played strictly, and a conversation may change between them',
    zh: '官方 SDK 能访问严格扮演的二十四家上游，对话可以在它们之间切换',
    tests: ['tests/practice'],
    commands: ['npm run grid', 'npm run walk', 'npm run flip-rows'],
  },
  {
    en: 'damage of any kind crashes nothing and bills nothing below zero',
    zh: '任何损坏都不会崩溃，也不会出现负数账单',
    tests: ['tests/protocols/fuzz.test.ts'],
  },
  {
    en: 'what goes wrong upstream becomes the right error and the right bill, and leaks nothing',
    zh: '上游的故障变成正确的错误与正确的账单，且不泄露任何信息',
    tests: ['tests/relay/faults.test.ts'],
  },
  {
    en: 'a client that reads nothing holds its upstream back instead of filling memory; one that leaves takes it along',
    zh: '不读取的客户端会让上游等待，而不是占满内存',
    tests: ['tests/relay/load.test.ts'],
  },
  {
    en: 'nothing delivered is free: whoever leaves a stream or a conversation pays for what came, and for thoughts that nobody saw',
    zh: '送达的内容都要计费：中途离开流或会话的人为已收到的内容付费，也为看不见的思考付费',
    tests: [
      'tests/relay/disconnect.test.ts',
      'tests/relay/hidden-thoughts.test.ts',
      'tests/relay/all-choices.test.ts',
      'tests/http/realtime-bill.test.ts',
    ],
  },
  {
    en: 'a user who is banned, a key that ends, a model that is taken away: open conversations end within a second; an answer already begun runs to its end and is paid for, nothing new begins',
    zh: '用户被封禁、令牌失效或模型被收回：打开的实时会话在一秒内结束；已经开始的回答会完成并计费，不会再开始新的',
    tests: ['tests/http/realtime-bill.test.ts', 'tests/relay/admission-matrix.test.ts'],
  },
  {
    en: 'failed image and music tasks are refunded once',
    zh: '失败的绘图与音乐只退款一次',
    tests: ['tests/relay/tasks.test.ts'],
  },
  {
    en: 'a bill can be recomputed from its log row',
    zh: '账单可由日志行重算',
    tests: ['tests/pricing/quota.test.ts'],
    commands: ['gateway logs explain', 'gateway ledger verify'],
  },
  {
    en: 'what raises the upstream’s price is taken out of a request or priced, and every usage, call and tool an answer reports is billed',
    zh: '会抬高上游价格的成员要么去除要么计价；回答上报的每次用量、调用和工具都会计费',
    tests: ['tests/relay/terms.test.ts', 'tests/pricing/odd-usage.test.ts', 'tests/relay/audio-length.test.ts'],
  },
  {
    en: 'parallel requests cannot overspend a balance, and who can pay is neither refused nor edited',
    zh: '并发请求不会超支，付得起的请求既不被拒绝也不被改动',
    tests: ['tests/relay/holds.test.ts', 'tests/relay/relay.test.ts'],
  },
  {
    en: '`kill -9` loses no charge whose end a client saw, and doubles none',
    zh: '客户端看到响应结尾之后，`kill -9` 不会丢失这笔费用，也不会重复计费',
    tests: ['tests/binary/crash.test.ts', 'tests/binary/disk.test.ts'],
  },
  {
    en: 'a failing disk or a damaged database refuses paid work at once and keeps what is owed',
    zh: '磁盘故障或数据库损坏时立即拒绝付费请求并保留应记的账',
    tests: ['tests/ledger/ledger.test.ts', 'tests/storage/corrupt.test.ts', 'tests/binary/disk.test.ts'],
  },
  {
    en: 'a thread that dies is replaced, or the process ends and says why; a stop ends every stream with an error frame and a bill',
    zh: '线程终止会被替换，或进程结束并说明原因；停止时每个流都以错误帧结束并入账',
    tests: ['tests/storage/threads.test.ts', 'tests/storage/stop.test.ts'],
  },
  {
    en: '2,000 streams at once, none stuck',
    zh: '同时 2,000 个流，无一卡住',
    tests: ['tests/binary/main-job.test.ts'],
  },
  {
    en: 'every clause of the specification is listed with the test that proves it by behaviour, the reason why it deviates, or as unproven; every endpoint answers twelve kinds of callers as declared',
    zh: '规格中的每一句都列有以行为证明它的测试、偏离的理由，或标为未证明；每个接口对十二种调用者按声明应答',
    tests: ['tests/spec', 'tests/http/catalogue.test.ts'],
    commands: ['bun scripts/clause.ts'],
  },
  {
    en: 'a command gives the same answers over the data directory, the socket and HTTP; no screen hangs or corrupts the terminal',
    zh: '同一命令经数据目录、套接字与 HTTP 给出相同的结果；没有界面会卡住或弄乱终端',
    tests: [
      'tests/programs/transports.test.ts',
      'tests/binary/screen-ends.test.ts',
      'tests/binary/every-command.test.ts',
    ],
  },
  {
    en: 'no key stored in plain text, none in any output',
    zh: '密钥不以明文存放，也不出现在任何输出中',
    tests: ['tests/binary/main-job.test.ts', 'tests/http/secrets.test.ts'],
  },
  {
    en: 'accounts are isolated from one another; nobody can grant a level at or above their own',
    zh: '一个账户的数据不会到达另一个账户；没有人能升到操作者同级或以上',
    tests: ['tests/http/tenants.test.ts', 'tests/domain/authority.test.ts'],
  },
  {
    en: 'addresses chosen by users never reach the internal network (SSRF protection)',
    zh: '用户填写的地址无法访问内网',
    tests: ['tests/outbound/guard.test.ts'],
  },
  {
    en: 'strangers who guess passwords and codes slow only themselves down; a new password ends what opened the account before',
    zh: '猜测密码与验证码的陌生人只会拖慢自己；新密码使之前打开账户的一切失效',
    tests: ['tests/http/strangers.test.ts', 'tests/http/credentials.test.ts'],
  },
  {
    en: 'sign-in with other services, second factors and passkeys',
    zh: '第三方登录、两步验证与通行密钥',
    tests: ['tests/http/oauth.test.ts', 'tests/http/second-factor.test.ts', 'tests/http/accounts.test.ts'],
  },
  {
    en: 'every screen in two languages, two themes and three widths: no accessibility violation, no sideways scroll, no complaint of the browser',
    zh: '每个页面在两种语言、两种主题、三种宽度下：无障碍零违规、无横向滚动、浏览器无报错',
    tests: ['tests/browser/console.test.ts', 'tests/browser/journeys.test.ts'],
  },
  {
    en: 'what went wrong in other gateways, by their advisories and reports, is tried here',
    zh: '其他网关的安全公告与事故报告中出过的问题，都在这里试过',
    tests: ['tests/incidents'],
  },
  {
    en: 'a channel is judged by whole answers; what may be sent again is, once, and nothing is paid twice',
    zh: '渠道按完整的回答评判；可以重发的请求只重发一次，不会重复付费',
    tests: ['tests/relay/stream-health.test.ts', 'tests/relay/upstream-reach.test.ts'],
  },
  {
    en: 'operators are told of trouble once, where they want to hear of it, without secrets; backups are opened again before older ones go',
    zh: '故障只通知一次，发往指定的去处，不含机密；备份会重新打开校验后才清理旧的',
    tests: ['tests/domain/alerts.test.ts', 'tests/domain/scheduled-backups.test.ts'],
  },
  {
    en: 'sizes and speed of the console; lists with 100,000 rows',
    zh: '控制台的体积与速度；十万行列表',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/console', 'node scripts/launch.mjs lab/measure/lists'],
  },
  {
    en: 'clients that leave, readers that stall, on the executable',
    zh: '对可执行文件：客户端离开、读者停顿时的表现',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/streams'],
  },
  {
    en: 'what hostile bodies of one key cost the others',
    zh: '一个密钥的恶意请求体对其他人的影响',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/rejected-requests'],
  },
  {
    en: 'start, memory and completions of the terminal',
    zh: '终端的启动、内存与补全',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/terminal'],
  },
  {
    en: 'speed with every bill durable before the last byte',
    zh: '每笔账在最后一个字节之前已落盘时的速度',
    tests: [],
    commands: ['gateway bench'],
  },
  {
    en: 'several machines on one PostgreSQL: nodes killed and frozen, the database restarted, replaced by an older copy or frozen, Redis killed: no charge that a client saw is lost or doubled, no balance below zero, nobody who can pay refused, and old and new builds serve side by side',
    zh: '多台机器共用一个 PostgreSQL：节点被终止或冻结，数据库被重启、冻结或换成较旧的副本，Redis 被终止：客户端见过的账不丢不重，余额不低于零，付得起的人不被拒绝，新旧版本并行服务',
    tests: [],
    commands: ['node scripts/launch.mjs lab/prove/prove cluster'],
  },
  {
    en: 'small changes of relay, protocols, providers, pricing and domain do not go unnoticed',
    zh: '转发、协议、上游、计价与各领域中的小改动不会无人察觉',
    tests: ['tests/scripts/mutants.test.ts'],
    commands: ['node scripts/launch.mjs lab/mutate/mutate'],
  },
];
