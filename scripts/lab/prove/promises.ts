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
    en: 'The bytes of a stream reach the client as the upstream sent them.',
    zh: '流的字节按上游发送的原样到达客户端。',
    tests: ['tests/relay/relay.test.ts', 'tests/protocols/sse.test.ts'],
  },
  {
    en: 'Every route applies the same rules, wherever the client puts its key.',
    zh: '无论客户端把令牌放在哪里，每条路由都执行相同的规则。',
    tests: ['tests/relay/admission-matrix.test.ts'],
  },
  {
    en: 'Every client protocol works with every kind of upstream.',
    zh: '每种客户端协议都能用于每类上游。',
    tests: ['tests/protocols/matrix.test.ts', 'tests/relay/translation.test.ts', 'tests/binary/sdk-grid.test.ts'],
  },
  {
    en: 'Requests of real agents reach an upstream of their protocol unchanged; what a translation cannot carry over is listed.',
    zh: '真实智能体的请求原样到达协议相同的上游；转换无法保留的内容会列出。',
    tests: ['tests/relay/captures.test.ts', 'tests/protocols/losses.test.ts'],
  },
  {
    en: 'An upstream is sent nothing that its model or provider refuses: values, bounds and names of members are data with a source, and each change is in the log entry.',
    zh: '不向上游发送其模型或服务商拒绝的内容：取值、范围与字段名都是带出处的数据，每处改动都写入日志记录。',
    tests: ['tests/providers/knowledge.test.ts', 'tests/protocols/targets.test.ts', 'tests/relay/knowledge.test.ts'],
    commands: ['gateway model explain'],
  },
  {
    en: 'Official SDKs work with strict doubles of twenty-six providers, and a conversation can move between them.',
    zh: '官方 SDK 能与二十六家服务商的严格替身配合，对话可以在它们之间切换。',
    tests: ['tests/practice'],
    commands: ['npm run grid', 'npm run walk', 'npm run flip-rows'],
  },
  {
    en: 'Damaged input of any kind neither crashes the gateway nor makes a bill negative.',
    zh: '任何损坏的输入都不会使网关崩溃，也不会产生负数账单。',
    tests: ['tests/protocols/fuzz.test.ts'],
  },
  {
    en: 'Each upstream failure becomes the right error and the right bill, and the error reveals nothing about the upstream.',
    zh: '上游的每种故障都变成正确的错误与正确的账单，且错误不泄露上游的信息。',
    tests: ['tests/relay/faults.test.ts'],
  },
  {
    en: 'An error message has one language: the one that the client names, otherwise the one that the owner of the key uses, otherwise English.',
    zh: '错误消息只用一种语言：客户端指定的语言，否则为令牌所有者使用的语言，否则为英文。',
    tests: ['tests/relay/error-language.test.ts'],
  },
  {
    en: 'A client that reads nothing slows its upstream down and does not fill memory; a client that disconnects ends its upstream call.',
    zh: '不读取的客户端会使上游放慢，而不会占满内存；断开的客户端会结束对上游的调用。',
    tests: ['tests/relay/load.test.ts'],
  },
  {
    en: 'Everything delivered is charged: a client that disconnects from a stream or a conversation pays for what it received, and for hidden thinking; one that leaves before the first byte pays the prompt.',
    zh: '送达的内容都会计费：客户端中途断开流或会话时，为已收到的内容和隐藏的思考付费；在第一个字节之前断开则为提示付费。',
    tests: [
      'tests/relay/disconnect.test.ts',
      'tests/relay/left-early.test.ts',
      'tests/relay/delivered-media.test.ts',
      'tests/relay/hidden-thoughts.test.ts',
      'tests/relay/all-choices.test.ts',
      'tests/http/realtime-bill.test.ts',
    ],
  },
  {
    en: 'When a user is disabled, a key expires or a model is withdrawn, open conversations end within a second; a response under way is completed and charged, and no new one begins. A node that is cut off from the database refuses who was changed within two seconds with Redis; without Redis, or with neither, within 27 seconds, or within those of `GATEWAY_ALONE_SECONDS`.',
    zh: '用户被封禁、令牌失效或模型被收回后，打开的实时会话在一秒内结束；正在进行的响应会完成并计费，不会开始新的响应。与数据库失去联系的节点：有 Redis 时在两秒内拒绝有变更的用户和令牌；没有 Redis 或两者都无法访问时在 27 秒内，或在 `GATEWAY_ALONE_SECONDS` 指定的秒数内。',
    tests: [
      'tests/http/realtime-bill.test.ts',
      'tests/relay/admission-matrix.test.ts',
      'tests/relay/isolation.test.ts',
      'tests/postgres/cut-off.test.ts',
    ],
  },
  {
    en: 'Failed image and music tasks are refunded once.',
    zh: '失败的绘图与音乐任务只退款一次。',
    tests: ['tests/relay/tasks.test.ts'],
  },
  {
    en: 'A charge can be recomputed from its log entry.',
    zh: '费用可以由其日志记录重新计算。',
    tests: ['tests/pricing/quota.test.ts'],
    commands: ['gateway logs explain', 'gateway ledger verify'],
  },
  {
    en: 'What would raise the price at the upstream is removed from the request or priced; all usage, calls and tools that a response reports are charged.',
    zh: '会抬高上游价格的内容要么从请求中去除，要么计价；响应上报的用量、调用和工具全部计费。',
    tests: ['tests/relay/terms.test.ts', 'tests/pricing/odd-usage.test.ts', 'tests/relay/audio-length.test.ts'],
  },
  {
    en: 'Parallel requests cannot overspend a balance; a request that the balance can pay for is neither refused nor changed.',
    zh: '并发请求不会超支余额；余额足以支付的请求既不被拒绝也不被改动。',
    tests: ['tests/relay/holds.test.ts', 'tests/relay/relay.test.ts'],
  },
  {
    en: 'Neither `kill -9` nor a power cut loses a charge of a response that a client received in full, or doubles one.',
    zh: '客户端完整收到的响应，其费用不会因 `kill -9` 或断电而丢失，也不会重复。',
    tests: ['tests/binary/crash.test.ts', 'tests/binary/disk.test.ts'],
    commands: ['node scripts/launch.mjs lab/prove/prove power-cuts'],
  },
  {
    en: 'With a failing disk or a damaged database, paid requests are refused at once and recorded charges are kept.',
    zh: '磁盘故障或数据库损坏时，立即拒绝付费请求，并保留已记录的费用。',
    tests: [
      'tests/ledger/ledger.test.ts',
      'tests/storage/corrupt.test.ts',
      'tests/binary/disk.test.ts',
      'tests/binary/full-disk.test.ts',
    ],
  },
  {
    en: 'A thread that dies is replaced, or the process ends and says why; a stop ends every stream with an error frame and a bill.',
    zh: '线程终止后会被替换，或进程结束并说明原因；停止时每个流都以错误帧结束并入账。',
    tests: ['tests/storage/threads.test.ts', 'tests/storage/stop.test.ts'],
  },
  {
    en: 'A new process takes port and database over from a running one; if it dies on the way, the old process goes on or its charges are kept for the next start.',
    zh: '新进程接管运行中进程的端口与数据库；若新进程中途终止，旧进程继续服务，或其费用保留到下次启动。',
    tests: ['tests/storage/handover.test.ts', 'tests/storage/take-over.test.ts'],
  },
  {
    en: 'An upgrade copies the database first, a migration that fails leaves nothing behind, and a build refuses a database of a newer version.',
    zh: '升级前先复制数据库；失败的迁移不留下任何内容；旧版本拒绝打开新版本的数据库。',
    tests: ['tests/storage/versions.test.ts'],
  },
  {
    en: 'SQLite and PostgreSQL return the same results, and a site can move between them without loss.',
    zh: 'SQLite 与 PostgreSQL 返回相同的结果，站点可以在两者之间无损迁移。',
    tests: ['tests/engines'],
  },
  {
    en: '2,000 streams run at once and none hangs.',
    zh: '同时运行 2,000 个流，无一卡住。',
    tests: ['tests/binary/main-job.test.ts'],
  },
  {
    en: 'Each clause of the specification is listed with the test that proves it, with the reason for a deviation, or as unproven; each endpoint answers twelve kinds of callers as declared.',
    zh: '规格的每一句都列有证明它的测试、偏离的理由，或标为未证明；每个接口对十二种调用者按声明应答。',
    tests: ['tests/spec', 'tests/http/catalogue.test.ts'],
    commands: ['bun scripts/clause.ts'],
  },
  {
    en: 'A command prints the same through the data directory, the socket and HTTP; no screen hangs or leaves the terminal unusable.',
    zh: '同一命令经数据目录、套接字与 HTTP 的输出相同；没有界面会卡住或使终端不可用。',
    tests: [
      'tests/programs/transports.test.ts',
      'tests/binary/screen-ends.test.ts',
      'tests/binary/every-command.test.ts',
    ],
  },
  {
    en: 'No key is stored in plain text or appears in any output.',
    zh: '密钥不以明文存放，也不出现在任何输出中。',
    tests: ['tests/binary/main-job.test.ts', 'tests/http/secrets.test.ts'],
  },
  {
    en: 'Users cannot read or change each other’s data; an account cannot grant a role at or above its own.',
    zh: '用户无法读取或更改彼此的数据；账户不能授予与自己同级或更高的角色。',
    tests: ['tests/http/tenants.test.ts', 'tests/domain/authority.test.ts'],
  },
  {
    en: 'Addresses that users choose never reach the internal network (SSRF protection).',
    zh: '用户填写的地址无法访问内网（SSRF 防护）。',
    tests: ['tests/outbound/guard.test.ts'],
  },
  {
    en: 'Guessing passwords or codes slows down only the client that guesses; a new password ends all sessions and codes from before.',
    zh: '猜测密码或验证码只会拖慢猜测者；设置新密码会使之前的会话与验证码失效。',
    tests: ['tests/http/strangers.test.ts', 'tests/http/credentials.test.ts'],
  },
  {
    en: 'Users can sign in with other services, two-step verification and passkeys.',
    zh: '用户可以使用第三方登录、两步验证与通行密钥。',
    tests: ['tests/http/oauth.test.ts', 'tests/http/second-factor.test.ts', 'tests/http/accounts.test.ts'],
  },
  {
    en: 'Every screen in two languages, two themes and three widths: no accessibility violation, no sideways scroll, no browser error.',
    zh: '每个页面在两种语言、两种主题、三种宽度下：无障碍零违规、无横向滚动、浏览器无报错。',
    tests: ['tests/browser/console.test.ts', 'tests/browser/journeys.test.ts'],
  },
  {
    en: 'The documentation says the same in both languages, is accessible and needs no network; its links lead somewhere, and the commands, options and files that it names exist.',
    zh: '文档的两种语言内容相同，无障碍零违规，无需网络；链接均有效，提到的命令、选项与文件都存在。',
    tests: ['tests/web/docs.test.ts', 'tests/browser/docs.test.ts', 'tests/scripts/documents.test.ts'],
  },
  {
    en: 'Faults that advisories and reports describe in other gateways are tested here.',
    zh: '其他网关的安全公告与事故报告中的问题，都在这里测试。',
    tests: ['tests/incidents'],
  },
  {
    en: 'A channel is judged by complete responses; a request that may be sent again is sent again once, and is charged once.',
    zh: '渠道按完整的响应评判；可以重发的请求只重发一次，也只计费一次。',
    tests: ['tests/relay/stream-health.test.ts', 'tests/relay/upstream-reach.test.ts'],
  },
  {
    en: 'Operators are alerted once per incident, at the places they chose, without secrets; a backup is opened and checked before older ones are deleted.',
    zh: '每次故障只告警一次，发往指定的去处，不含机密；备份经重新打开校验后才删除旧的。',
    tests: ['tests/domain/alerts.test.ts', 'tests/domain/scheduled-backups.test.ts'],
  },
  {
    en: 'Several machines on one PostgreSQL never spend more than a balance or a limit; charges that clients saw survive nodes that are killed, and the leases of such nodes return.',
    zh: '多台机器共用一个 PostgreSQL 时，支出不超过余额或限额；节点被终止后，客户端见过的费用不会丢失，其租约会归还。',
    tests: ['tests/postgres/shared-money.test.ts', 'tests/postgres/leases.test.ts'],
    commands: ['node scripts/launch.mjs lab/prove/prove cluster'],
  },
  {
    en: 'While the database of several machines is away, users with an ample balance are served for 24 to 27 seconds, from their first request on, as far as they ask for no more than ten requests a second and key or were at work at a higher rate; `/readyz` says for how long.',
    zh: '多台机器的数据库不可用时，余额充足的用户从首个请求起可继续使用 24 到 27 秒，只要每个令牌每秒不超过十次请求，或此前已以更高速率使用；`/readyz` 写明还有多久。',
    tests: ['tests/postgres/outage.test.ts', 'tests/ledger/lease-demand.test.ts', 'tests/ledger/grants.test.ts'],
    commands: ['node scripts/launch.mjs lab/prove/prove cluster --only young --full'],
  },
  {
    en: 'An answer that `kill -9` breaks is charged as if it had broken off: a chat as of at most five seconds before, sound with its first piece.',
    zh: '被 `kill -9` 中断的回答按在该处中断收费：对话按至多五秒前的状态，语音与转写从第一部分起。',
    tests: ['tests/relay/owed-so-far.test.ts', 'tests/http/realtime-bill.test.ts'],
  },
  {
    en: 'Small changes to relay, protocols, providers, pricing and domain make a test fail.',
    zh: '转发、协议、上游、计价与各领域中的小改动会使测试失败。',
    tests: ['tests/scripts/mutants.test.ts'],
    commands: ['node scripts/launch.mjs lab/mutate/mutate'],
  },
  {
    en: 'Size and speed of the console; lists with 100,000 rows.',
    zh: '控制台的体积与速度；十万行列表。',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/console', 'node scripts/launch.mjs lab/measure/lists'],
  },
  {
    en: 'The executable with clients that disconnect or read slowly.',
    zh: '客户端断开或读取缓慢时的可执行文件。',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/streams'],
  },
  {
    en: 'What hostile request bodies from one key cost other clients.',
    zh: '一个令牌的恶意请求体对其他客户端的影响。',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/rejected-requests'],
  },
  {
    en: 'Start, memory and completion of the command line.',
    zh: '命令行的启动、内存与补全。',
    tests: [],
    commands: ['node scripts/launch.mjs lab/measure/terminal'],
  },
  {
    en: 'Speed while each charge is durable before the last byte of its response.',
    zh: '每笔费用在响应的最后一个字节之前已持久保存时的速度。',
    tests: [],
    commands: ['gateway bench'],
  },
];
