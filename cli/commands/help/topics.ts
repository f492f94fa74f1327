/** Help that belongs to no single command. */

interface Words {
  readonly zh: string;
  readonly en: string;
}

export const exitCodes: readonly (Words & { readonly code: number })[] = [
  { code: 0, zh: '成功，也包括空列表和“已是如此”', en: 'done; also an empty list and "already so"' },
  { code: 1, zh: '意外失败', en: 'unexpected failure' },
  { code: 2, zh: '用法错误', en: 'usage: unknown flag, bad value' },
  { code: 3, zh: '已取消', en: 'cancelled' },
  { code: 4, zh: '未登录或被拒绝', en: 'not logged in, or refused' },
  { code: 5, zh: '不存在或有歧义', en: 'not found, or ambiguous' },
  { code: 6, zh: '冲突：已存在、被占用', en: 'conflict: exists, in use' },
  { code: 7, zh: '无法连接服务器或上游', en: 'server or upstream cannot be reached' },
  { code: 8, zh: '检查未通过', en: 'a check failed, or part of the work' },
  { code: 9, zh: '缺少输入且不能询问', en: 'input needed, and nobody to ask' },
  { code: 10, zh: '存在差异', en: 'differences found' },
  { code: 11, zh: '内部线程终止，服务随之停止', en: 'a thread died, so serving ended' },
  { code: 130, zh: 'Ctrl-C', en: 'Ctrl-C' },
  { code: 143, zh: 'SIGTERM', en: 'SIGTERM' },
];

export const environment: readonly (Words & { readonly name: string })[] = [
  { name: 'GATEWAY_DATA_DIR', zh: '数据目录', en: 'data directory' },
  {
    name: 'DATABASE_URL',
    zh: 'PostgreSQL 地址：多台机器共用一个站点（默认为数据目录中的文件；或 _FILE）',
    en: 'PostgreSQL of a site on several machines (else the file in the data directory; or _FILE)',
  },
  {
    name: 'DATABASE_DIRECT_URL',
    zh: '同一数据库不经连接池的地址',
    en: 'the same database without a pooler in between',
  },
  {
    name: 'REDIS_URL',
    zh: 'Valkey 或 Redis：各节点共同计算限速窗口',
    en: 'Valkey or Redis: rate windows counted by all nodes together',
  },
  {
    name: 'GATEWAY_OUTBOX',
    zh: '持久目录：数据库不可用时账单暂存于此（缺省则返回 503）',
    en: 'durable directory for bills while the database is away (without one: 503)',
  },
  {
    name: 'GATEWAY_OWED_DIR',
    zh: '数据目录所在磁盘已满时，进程结束前未能入账的费用写到此目录（应位于另一块磁盘，且只供本站点使用）',
    en: 'directory for what is owed when the disk of the data directory is full at the end: on another disk, and of this site alone',
  },
  {
    name: 'GATEWAY_LEASE_SECONDS',
    zh: '租约秒数：数据库不可用时节点可继续服务的时间（少 3 秒），也是死节点的额度归还前的时间（多 5 秒；10 至 600，默认 30）',
    en: 'seconds a lease lasts: a node serves for so long without the database (less 3), and what a dead one leased is free after as long (and 5 more; 10 to 600, else 30)',
  },
  {
    name: 'GATEWAY_ALONE_SECONDS',
    zh: '既无法访问数据库也无法访问 REDIS_URL 的节点在多少秒后停止服务：吊销的令牌到不了它（2 至租约秒数，默认为租约秒数）',
    en: 'seconds after which a node stops serving that reaches neither the database nor REDIS_URL: revoked keys do not reach it (2 to the seconds of a lease, which is the default)',
  },
  { name: 'GATEWAY_URL', zh: '远程网关', en: 'remote gateway' },
  { name: 'GATEWAY_TOKEN', zh: '访问令牌', en: 'access token' },
  { name: 'GATEWAY_USER', zh: '访问令牌的用户编号', en: 'user id of the access token' },
  { name: 'GATEWAY_CONTEXT', zh: '已登录的网关', en: 'remote gateway by name' },
  { name: 'GATEWAY_HOST', zh: '监听地址', en: 'address to listen on' },
  { name: 'GATEWAY_PORT', zh: '端口', en: 'port' },
  { name: 'GATEWAY_BASE_PATH', zh: '反向代理的路径（同 --base-path）', en: 'path of the proxy, as --base-path' },
  {
    name: 'GATEWAY_INNER_TARGETS',
    zh: '告警和通知可以发往的内网地址或网段，以逗号分隔；只能在此设置',
    en: 'addresses and networks of your own that alerts and notifications may be sent to, with commas between; set here alone',
  },
  { name: 'GATEWAY_RELAYS', zh: '转发线程数（同 --relays）', en: 'relay threads, as --relays' },
  { name: 'GATEWAY_METRICS', zh: '指标的监听地址（同 --metrics）', en: 'address for metrics, as --metrics' },
  { name: 'GATEWAY_METRICS_TOKEN', zh: '读取指标所需的令牌', en: 'token that reading metrics needs' },
  {
    name: 'GATEWAY_DETACHED',
    zh: '设置后，终端关闭（SIGHUP）不会结束服务',
    en: 'when set, closing the terminal (SIGHUP) does not end the server',
  },
  { name: 'GATEWAY_SETUP_CODE', zh: '初始化码（同 --code）', en: 'setup code, as --code' },
  {
    name: 'GATEWAY_CHANNEL_KEY',
    zh: '渠道密钥，代替 --key-stdin 与 --channel-key-stdin',
    en: 'key of a channel in place of --key-stdin and --channel-key-stdin',
  },
  { name: 'GATEWAY_TOKEN_KEY', zh: '令牌密钥，代替 --key-stdin', en: 'key of a token in place of --key-stdin' },
  {
    name: 'GATEWAY_USER_PASSWORD',
    zh: '用户密码，代替 --password-stdin',
    en: 'password of a user in place of --password-stdin',
  },
  { name: 'GATEWAY_NO_KEYRING', zh: '设置后，登录信息存于文件', en: 'when set, sign-ins are kept in files' },
  { name: 'OTEL_SDK_DISABLED', zh: '设为 true 时不发送追踪', en: 'true sends no traces' },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    zh: '追踪的接收地址（优先于 OTEL_EXPORTER_OTLP_ENDPOINT）',
    en: 'where traces go, before OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  {
    name: 'GATEWAY_IDLE_SECONDS',
    zh: '两次请求之间连接可空闲的秒数（8 至 255，默认 120）',
    en: 'seconds a connection may be idle between requests (8 to 255, else 120)',
  },
  {
    name: 'GATEWAY_BODY_SECONDS',
    zh: '请求体须在此秒数内到达，较长的须有进展（默认 30）',
    en: 'seconds within which a body must arrive, or a long one make progress (else 30)',
  },
  {
    name: 'GATEWAY_CONNECTIONS_PER_ADDRESS',
    zh: '每个地址的连接数（默认为可打开数的四分之一；本机与可信代理不限）',
    en: 'connections of one address (else a quarter of what may be open; this machine and trusted proxies are exempt)',
  },
  {
    name: 'GATEWAY_MAX_OPEN',
    zh: '同时进行的请求数上限，超出返回 503（默认按可打开的描述符）',
    en: 'requests under way at most, more get 503 (else by what may be open)',
  },
  {
    name: 'GATEWAY_MEMORY_MB',
    zh: '本进程可用的内存（默认为容器的限额，否则为本机内存）；请求体占用超出其五分之二时返回 503',
    en: "memory that this process may use (else its container's, else the machine's); bodies beyond two fifths of it get 503",
  },
  {
    name: 'GATEWAY_SHED_DELAY_MS',
    zh: '事件循环持续延迟或新请求持续排队超过此毫秒数时拒绝部分新请求（默认 150，0 为从不）',
    en: 'some newcomers get 503 when the event loop is later than this, or newcomers wait for longer, on end (else 150; 0: never)',
  },
  { name: 'GATEWAY_ADMIN_USERNAME', zh: '首个管理员', en: 'first administrator' },
  { name: 'GATEWAY_ADMIN_PASSWORD', zh: '其密码（或 _FILE）', en: 'its password (or _FILE)' },
  { name: 'GATEWAY_ADMIN_TOKEN', zh: '其访问令牌（或 _FILE）', en: 'its access token (or _FILE)' },
  { name: 'GATEWAY_INITIAL_TOKEN', zh: '首个 API 令牌（或 _FILE）', en: 'first API key (or _FILE)' },
  { name: 'GATEWAY_CONFIG', zh: '启动时应用的文件', en: 'file applied at start' },
  { name: 'GATEWAY_SECRET_KEY', zh: '主密钥（或 _FILE）', en: 'master key (or _FILE)' },
  { name: 'GATEWAY_NEW_SECRET_KEY', zh: '更换后的主密钥', en: 'the key that secrets rotate changes to' },
  {
    name: 'GATEWAY_STOP_DELAY',
    zh: '停止前照常服务的秒数，其间 /readyz 返回 503（默认 0；有负载均衡器时 5 至 30）',
    en: 'seconds it serves on before it stops, while /readyz says 503 (else 0; 5 to 30 behind a balancer)',
  },
  { name: 'GATEWAY_GRACE', zh: '停止时等待的秒数', en: 'seconds that open requests get when it stops' },
  {
    name: 'GATEWAY_COMMIT_CEILING_MS',
    zh: '回答等待记账的上限（毫秒）；默认不限',
    en: 'longest wait of a response for its bill (ms); no limit by default',
  },
  { name: 'GATEWAY_LOG_FORMAT', zh: '日志格式：text 或 json', en: 'form of what it logs: text or json' },
  { name: 'GATEWAY_LOG_LEVEL', zh: '日志级别：debug、info、warn、error', en: 'debug, info, warn or error' },
  { name: 'GATEWAY_ACCESS_LOG', zh: '1：每个请求结束时记一行', en: '1: a line for each request that ended' },
  {
    name: 'GATEWAY_TRACES',
    zh: 'OTLP/HTTP 追踪地址（或 OTEL_EXPORTER_OTLP_ENDPOINT）',
    en: 'where traces go over OTLP/HTTP (or OTEL_EXPORTER_OTLP_ENDPOINT)',
  },
  { name: 'GATEWAY_TRACE_SHARE', zh: '追踪的请求比例（默认 0.1）', en: 'share of requests traced (0.1)' },
  { name: 'GATEWAY_TRACE_CONTENT', zh: '1：追踪中包含提示词', en: '1: prompts stand in traces' },
  { name: 'GATEWAY_LANG', zh: '语言', en: 'language' },
  { name: 'GATEWAY_NO_INPUT', zh: '从不询问', en: 'never ask' },
  { name: 'GATEWAY_ACCESSIBLE', zh: '只用纯文本问答', en: 'plain questions instead of screens' },
];

const lines = (rows: readonly (readonly [string, string])[], width: number): string =>
  rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');

const both = (title: Words, rows: readonly (Words & { readonly left: string })[], width: number): Words => ({
  zh: `${title.zh}\n\n${lines(
    rows.map((row) => [row.left, row.zh] as const),
    width,
  )}`,
  en: `${title.en}\n\n${lines(
    rows.map((row) => [row.left, row.en] as const),
    width,
  )}`,
});

export const topics: readonly (Words & { readonly name: string })[] = [
  {
    name: 'environment',
    ...both(
      { zh: '环境变量', en: 'Environment variables' },
      environment.map((row) => ({ ...row, left: row.name })),
      24,
    ),
  },
  {
    name: 'exit-codes',
    ...both(
      { zh: '退出码', en: 'Exit codes' },
      exitCodes.map((row) => ({ ...row, left: String(row.code) })),
      4,
    ),
  },
  {
    name: 'formatting',
    zh: `输出格式

  终端中是对齐的表格，时间写作“5 分钟前”；管道中以制表符分隔、不截断，
  时间为 ISO 格式（终端加 --wide 亦然）。
  --json         JSON；--json=a,b 选字段，--json=? 列出字段
  --jq '.[].id'  查询 JSON：路径、[]、select(.a == 1)、length、keys、|
  -o csv|yaml|jsonl|id|env
  -q             只输出标识或密钥
  --columns a,b  选择列，名称同 -o csv 的表头`,
    en: `Output formats

  On a terminal: an aligned table, times as "5m ago". In a pipe and with
  --wide: nothing cut off, times in ISO form.
  --json         JSON; --json=a,b selects fields, --json=? lists them
  --jq '.[].id'  query it: paths, [], select(.a == 1), length, keys, |
  -o csv|yaml|jsonl|id|env
  -q             only ids or keys
  --columns a,b  choose columns, by the names that -o csv has`,
  },
  {
    name: 'scripting',
    zh: `脚本

  数据在标准输出，其余在标准错误。缺值时退出码 9，并列出全部缺少的参数。
  机密从不作为参数值：用 --key-stdin、--key-file 或环境变量。
  KEY=$(gateway token create --name ci -q)`,
    en: `Scripts

  Data goes to standard output, everything else to standard error.
  Missing values: exit 9, and all of them are named at once.
  Secrets are never flag values: use --key-stdin, --key-file, environment.
  KEY=$(gateway token create --name ci -q)`,
  },
  {
    name: 'remote',
    zh: `远程

  GATEWAY_URL 与 GATEWAY_TOKEN（控制台中生成的访问令牌），
  或 gateway login URL --token-stdin。
  没有它们时：数据目录有服务运行则经其本地套接字，否则直接打开数据目录。`,
    en: `Remote gateways

  GATEWAY_URL and GATEWAY_TOKEN (an access token made in the console),
  or gateway login URL --token-stdin. Without them: the local socket of the
  server that runs on the data directory, else the data directory itself.`,
  },
  {
    name: 'files',
    zh: `声明式配置

  gateway export > site.yaml      当前状态，机密以引用表示
  gateway diff -f site.yaml       有差异则退出码 10
  gateway apply -f site.yaml      一个事务，全部或全不
  --prune 只删除由同一文件创建的对象。
  引用：key: {env: NAME} 或 {file: PATH}。变量未设置时，已有的密钥与密码保持不变，
  并会提示；其他字段（限制、地址等）则拒绝。\${NAME} 之类的写法会被拒绝。
  不限：写 unlimited（models、allow_ips、预算、速率）；base_url: default 为官方地址。
  额度：500000 或 5usd；expires：never、日期，或 30d（自创建时起算）。
  没有密码的新用户不能用密码登录；用户的 quota 只是新用户的起始余额；
  codes 按 name 补足到 count 个，或以 code 给出兑换码本身。
  schedules 是定时发送的账单邮件；单据链接不在文件中（只有拿到链接的人知道）。
  访问令牌：diff 只需读取范围，apply 需要文件各部分的范围。`,
    en: `Declarative files

  gateway export > site.yaml      what there is, secrets as references
  gateway diff -f site.yaml       exit 10 when there are differences
  gateway apply -f site.yaml      one transaction, all or nothing
  --prune deletes only what the same file made.
  References: key: {env: NAME} or {file: PATH}. Where the variable is not set,
  keys and passwords that are stored stay, and a line says so; anything else
  (limits, addresses) is refused. \${NAME} and its like are refused.
  No limit: unlimited (models, allow_ips, budgets, rates);
  base_url: default is the maker's own address.
  Amounts: 500000 or 5usd; expires: never, a date, or 30d from when it was made.
  A new user without a password cannot log in with one; quota of a user is
  what a new one starts with; codes are made up to count of a name, or given
  by code. schedules are statements by mail; links to documents are not in
  files, for only who has one knows it.
  Access tokens: diff needs reading, apply the scopes of the sections
  in the file.`,
  },
  {
    name: 'migration',
    zh: `迁移

  gateway import new-api one-api.db --dry-run
  可读：SQLite 文件、MySQL 或 PostgreSQL 转储、LiteLLM 的 YAML。
  令牌密钥、密码、两步验证、额度、渠道、倍率、兑换码与日志都会保留，
  模型价格沿用来源的（--new-prices 采用此处的）。
  先列出此处不起作用的内容，再询问，然后写入；脚本请加 --yes。`,
    en: `Moving from another gateway

  gateway import new-api one-api.db --dry-run
  Reads: a SQLite file, a MySQL or PostgreSQL dump, a LiteLLM YAML file.
  Keys, passwords, second steps, quotas, channels, ratios, codes and logs
  are kept, models cost what they cost there (--new-prices: what they cost here).
  It names what will not act here, asks, and then writes; scripts add --yes.`,
  },
  {
    name: 'filters',
    zh: `过滤

  channel ... --filter status=enabled,group=vip   全部满足
  logs ... --type error --since 10m --model gpt-4o`,
    en: `Filters

  channel ... --filter status=enabled,group=vip   all must hold
  logs ... --type error --since 10m --model gpt-4o`,
  },
];
