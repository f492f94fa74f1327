/** Every option key, one row each: validation, API, redaction, status payload, form, CLI and documents are loops over this list. */
import { type BucketOptionKey, bucketOptions } from './buckets.ts';
import defaults from './default-prices.json' with { type: 'json' };
import {
  address,
  base,
  chatLinks,
  choice,
  currency,
  decimal,
  domains,
  integer,
  json,
  limitTable,
  lines,
  networks,
  type OptionKind,
  picture,
  ratios,
  ratioTable,
  termTable,
  text,
  texts,
  tiers,
  toggle,
  versionTable,
} from './option-kinds.ts';

export interface OptionRow<T = unknown> {
  readonly kind: OptionKind<T>;
  /** Stored text when nothing is stored. */
  readonly fallback: string;
  /** Tab of the settings page and panel on it. */
  readonly tab: string;
  readonly panel: string;
  readonly label: { readonly zh: string; readonly en: string };
  /** Least role that may write it. */
  readonly role: number;
  /** Sealed at rest, never given out. */
  readonly secret: boolean;
  /** Field of the status payload that publishes it. */
  readonly publicAs: string | null;
  /** Another option that must not be empty before this switch may be turned on. */
  readonly needs: string | null;
  /** Switch that must be on for this one to matter; forms lock it otherwise. */
  readonly dependsOn: string | null;
  /** Asked before this value is stored. */
  readonly confirm: { readonly value: string; readonly zh: string; readonly en: string } | null;
}

interface Extras {
  readonly role?: number;
  readonly secret?: boolean;
  readonly publicAs?: string;
  readonly needs?: string;
  readonly dependsOn?: string;
  readonly confirm?: { readonly value: string; readonly zh: string; readonly en: string };
}

const row = <T>(
  kind: OptionKind<T>,
  fallback: string,
  tab: string,
  panel: string,
  zh: string,
  en: string,
  extras: Extras = {},
): OptionRow<T> => ({
  kind,
  fallback,
  tab,
  panel,
  label: { zh, en },
  role: extras.role ?? 10,
  secret: extras.secret ?? false,
  publicAs: extras.publicAs ?? null,
  needs: extras.needs ?? null,
  dependsOn: extras.dependsOn ?? null,
  confirm: extras.confirm ?? null,
});

const shipped: Readonly<Record<string, unknown>> = defaults;

/** A price of its own for each bucket that has one. */
const priceRatios = Object.fromEntries(
  bucketOptions.map(({ key, label }) => [
    key,
    row(ratios, JSON.stringify(shipped[key] ?? {}), 'operation', 'pricing', label.zh, label.en),
  ]),
) as Record<BucketOptionKey, OptionRow<ReadonlyMap<string, number>>>;

export const options = {
  PasswordLoginEnabled: row(
    toggle,
    'true',
    'system',
    'login',
    '允许通过密码进行登录',
    'Allow sign-in with a password',
    {
      role: 100,
      confirm: {
        value: 'false',
        zh: '您确定要取消密码登录功能吗？这可能会影响用户的登录方式。',
        en: 'Turn password sign-in off? It may change how users can sign in.',
      },
    },
  ),
  PasswordRegisterEnabled: row(
    toggle,
    'true',
    'system',
    'login',
    '允许通过密码进行注册',
    'Allow registration with a password',
    { role: 100 },
  ),
  EmailVerificationEnabled: row(
    toggle,
    'false',
    'system',
    'login',
    '通过密码注册时需要进行邮箱验证',
    'Verify e-mail addresses at registration',
    { role: 100, publicAs: 'email_verification' },
  ),
  RegisterEnabled: row(toggle, 'true', 'system', 'login', '允许新用户注册', 'Allow new users to register', {
    role: 100,
    publicAs: 'register_enabled',
  }),
  'general_setting.session_idle_hours': row(
    integer(0, 720),
    '168',
    'system',
    'login',
    '闲置多少小时后退出登录（0 = 不限）',
    'Hours without use after which a login ends (0 = never)',
    { role: 100 },
  ),
  GitHubOAuthEnabled: row(
    toggle,
    'false',
    'system',
    'login',
    '允许通过 GitHub 账户登录 & 注册',
    'Allow sign-in with GitHub',
    { role: 100, publicAs: 'github_oauth', needs: 'GitHubClientId' },
  ),
  GitHubClientId: row(text, '', 'system', 'login', 'GitHub Client ID', 'GitHub client ID', {
    role: 100,
    publicAs: 'github_client_id',
  }),
  GitHubClientSecret: row(text, '', 'system', 'login', 'GitHub Client Secret', 'GitHub client secret', {
    role: 100,
    secret: true,
  }),
  'oidc.enabled': row(toggle, 'false', 'system', 'login', '允许通过 OIDC 进行登录', 'Allow sign-in with OIDC', {
    role: 100,
    publicAs: 'oidc_enabled',
    needs: 'oidc.client_id',
  }),
  'oidc.client_id': row(text, '', 'system', 'login', 'OIDC Client ID', 'OIDC client ID', {
    role: 100,
    publicAs: 'oidc_client_id',
  }),
  'oidc.client_secret': row(text, '', 'system', 'login', 'OIDC Client Secret', 'OIDC client secret', {
    role: 100,
    secret: true,
  }),
  'oidc.well_known': row(address, '', 'system', 'login', 'OIDC Well-Known URL', 'OIDC well-known URL', { role: 100 }),
  'oidc.issuer': row(address, '', 'system', 'login', 'OIDC 签发者', 'OIDC issuer', { role: 100 }),
  'oidc.authorization_endpoint': row(address, '', 'system', 'login', 'OIDC 授权端点', 'OIDC authorization endpoint', {
    role: 100,
    publicAs: 'oidc_authorization_endpoint',
  }),
  'oidc.token_endpoint': row(address, '', 'system', 'login', 'OIDC 令牌端点', 'OIDC token endpoint', { role: 100 }),
  'oidc.user_info_endpoint': row(address, '', 'system', 'login', 'OIDC 用户信息端点', 'OIDC user info endpoint', {
    role: 100,
  }),
  WeChatAuthEnabled: row(toggle, 'false', 'system', 'login', '允许通过微信登录 & 注册', 'Allow sign-in with WeChat', {
    role: 100,
    publicAs: 'wechat_login',
    needs: 'WeChatServerAddress',
  }),
  WeChatServerAddress: row(base, '', 'system', 'login', 'WeChat Server 服务器地址', 'WeChat server address', {
    role: 100,
  }),
  WeChatServerToken: row(text, '', 'system', 'login', 'WeChat Server 访问凭证', 'WeChat server token', {
    role: 100,
    secret: true,
  }),
  WeChatAccountQRCodeImageURL: row(
    picture,
    '',
    'system',
    'login',
    '微信公众号二维码图片链接',
    'WeChat account QR code image URL',
    { role: 100, publicAs: 'wechat_qrcode' },
  ),
  TelegramOAuthEnabled: row(
    toggle,
    'false',
    'system',
    'login',
    '允许通过 Telegram 进行登录',
    'Allow sign-in with Telegram',
    { role: 100, publicAs: 'telegram_oauth', needs: 'TelegramBotToken' },
  ),
  TelegramBotToken: row(text, '', 'system', 'login', 'Telegram Bot Token', 'Telegram bot token', {
    role: 100,
    secret: true,
  }),
  TelegramBotName: row(text, '', 'system', 'login', 'Telegram Bot 名称', 'Telegram bot name', {
    role: 100,
    publicAs: 'telegram_bot_name',
  }),
  LinuxDOOAuthEnabled: row(
    toggle,
    'false',
    'system',
    'login',
    '允许通过 Linux DO 账户登录 & 注册',
    'Allow sign-in with Linux DO',
    { role: 100, publicAs: 'linuxdo_oauth', needs: 'LinuxDOClientId' },
  ),
  LinuxDOClientId: row(text, '', 'system', 'login', 'Linux DO Client ID', 'Linux DO client ID', {
    role: 100,
    publicAs: 'linuxdo_client_id',
  }),
  LinuxDOClientSecret: row(text, '', 'system', 'login', 'Linux DO Client Secret', 'Linux DO client secret', {
    role: 100,
    secret: true,
  }),
  TurnstileCheckEnabled: row(
    toggle,
    'false',
    'system',
    'login',
    '启用 Turnstile 用户校验',
    'Check users with Turnstile',
    { role: 100, publicAs: 'turnstile_check', needs: 'TurnstileSiteKey' },
  ),
  TurnstileSiteKey: row(text, '', 'system', 'login', 'Turnstile Site Key', 'Turnstile site key', {
    role: 100,
    publicAs: 'turnstile_site_key',
  }),
  TurnstileSecretKey: row(text, '', 'system', 'login', 'Turnstile Secret Key', 'Turnstile secret key', {
    role: 100,
    secret: true,
  }),
  EmailDomainRestrictionEnabled: row(
    toggle,
    'false',
    'system',
    'login',
    '启用邮箱域名白名单',
    'Restrict e-mail domains',
    { role: 100, needs: 'EmailDomainWhitelist' },
  ),
  EmailAliasRestrictionEnabled: row(toggle, 'false', 'system', 'login', '启用邮箱别名限制', 'Refuse e-mail aliases', {
    role: 100,
  }),
  EmailDomainWhitelist: row(
    domains,
    'gmail.com,163.com,126.com,qq.com,outlook.com,hotmail.com,icloud.com,yahoo.com,foxmail.com',
    'system',
    'login',
    '允许的邮箱域名',
    'Allowed e-mail domains',
    { role: 100 },
  ),
  SMTPServer: row(text, '', 'system', 'mail', 'SMTP 服务器地址', 'SMTP server', { role: 100 }),
  SMTPPort: row(integer(1, 65_535), '587', 'system', 'mail', 'SMTP 端口', 'SMTP port', { role: 100 }),
  SMTPAccount: row(text, '', 'system', 'mail', 'SMTP 账户', 'SMTP account', { role: 100 }),
  SMTPFrom: row(text, '', 'system', 'mail', 'SMTP 发送者邮箱', 'SMTP sender address', { role: 100 }),
  SMTPToken: row(text, '', 'system', 'mail', 'SMTP 访问凭证', 'SMTP password', { role: 100, secret: true }),
  SMTPSSLEnabled: row(toggle, 'false', 'system', 'mail', '启用 SMTP SSL', 'Use SSL for SMTP', { role: 100 }),
  SMTPAllowPlainLocal: row(
    toggle,
    'false',
    'system',
    'mail',
    '允许向本机的 SMTP 服务器明文发送密码',
    'Allow the password unencrypted to an SMTP server on this machine',
    { role: 100 },
  ),
  ServerAddress: row(base, '', 'system', 'server', '服务器地址', 'Server address', {
    role: 100,
    publicAs: 'server_address',
  }),
  'general_setting.trusted_proxies': row(
    networks,
    '',
    'system',
    'server',
    '可信代理（IP 或网段；仅信任它们写入的 X-Forwarded-For）',
    'Trusted proxies (addresses or networks; X-Forwarded-For is believed from these alone)',
    { role: 100 },
  ),
  WorkerUrl: row(base, '', 'system', 'server', 'Worker 地址', 'Worker URL', { role: 100 }),
  WorkerValidKey: row(text, '', 'system', 'server', 'Worker 密钥', 'Worker key', { role: 100, secret: true }),
  PayAddress: row(base, '', 'system', 'payment', '支付地址', 'Payment address', { role: 100 }),
  EpayId: row(text, '', 'system', 'payment', '易支付商户 ID', 'Epay merchant id', { role: 100 }),
  EpayKey: row(text, '', 'system', 'payment', '易支付商户密钥', 'Epay merchant key', { role: 100, secret: true }),
  Price: row(decimal(0), '7.3', 'system', 'payment', '充值价格（x 元/美金）', 'Price (yuan per dollar)', {
    role: 100,
    publicAs: 'price',
  }),
  StripeApiSecret: row(text, '', 'system', 'payment', 'Stripe API 密钥', 'Stripe API key', {
    role: 100,
    secret: true,
  }),
  StripeWebhookSecret: row(text, '', 'system', 'payment', 'Stripe Webhook 密钥', 'Stripe webhook secret', {
    role: 100,
    secret: true,
  }),
  StripeUnitPrice: row(
    decimal(0),
    '1',
    'system',
    'payment',
    'Stripe 充值价格（x 货币/美金）',
    'Stripe price (currency per dollar)',
    { role: 100 },
  ),
  StripeCurrency: row(
    currency,
    'usd',
    'system',
    'payment',
    'Stripe 货币（三位代码）',
    'Stripe currency (three letters)',
    { role: 100 },
  ),
  MinTopUp: row(integer(1), '1', 'system', 'payment', '最低充值美元数量', 'Minimum top-up (dollars)', {
    role: 100,
    publicAs: 'min_topup',
  }),
  TopupGroupRatio: row(
    ratios,
    '{"default":1,"svip":1,"vip":1}',
    'system',
    'payment',
    '充值分组倍率',
    'Top-up group ratios',
    { role: 100 },
  ),
  CustomCallbackAddress: row(base, '', 'system', 'payment', '回调地址', 'Callback address', { role: 100 }),
  Notice: row(text, '', 'other', 'content', '公告', 'Announcement'),
  SystemName: row(text, 'New API', 'other', 'content', '系统名称', 'System name', {
    role: 100,
    publicAs: 'system_name',
  }),
  Logo: row(picture, '', 'other', 'content', 'Logo 图片地址', 'Logo address', { role: 100, publicAs: 'logo' }),
  About: row(text, '', 'other', 'content', '关于', 'About', { role: 100 }),
  HomePageContent: row(text, '', 'other', 'content', '首页内容', 'Home page content', { role: 100 }),
  Footer: row(text, '', 'other', 'content', '页脚', 'Footer', { publicAs: 'footer_html' }),
  TopUpLink: row(address, '', 'other', 'content', '充值链接', 'Top-up link', { publicAs: 'top_up_link', role: 100 }),
  'general_setting.docs_link': row(address, '', 'other', 'content', '文档地址', 'Documentation link', {
    role: 100,
    publicAs: 'docs_link',
  }),
  'general_setting.release_url': row(
    address,
    '',
    'other',
    'content',
    '版本发布地址（检查更新时访问）',
    'Release address (asked when checking for updates)',
    { role: 100 },
  ),
  Chats: row(chatLinks, '[]', 'other', 'content', '聊天配置', 'Chat links', { role: 100, publicAs: 'chats' }),
  DefaultCollapseSidebar: row(
    toggle,
    'false',
    'other',
    'content',
    '默认折叠侧边栏',
    'Collapse the sidebar by default',
    { publicAs: 'default_collapse_sidebar' },
  ),
  QuotaPerUnit: row(decimal(1), '500000', 'operation', 'general', '单位美元额度', 'Quota per dollar', {
    role: 100,
    publicAs: 'quota_per_unit',
  }),
  RetryTimes: row(integer(0), '0', 'operation', 'general', '失败重试次数', 'Retries after failure'),
  DisplayInCurrencyEnabled: row(
    toggle,
    'true',
    'operation',
    'general',
    '以货币形式显示额度',
    'Show quota as currency',
    { role: 100, publicAs: 'display_in_currency' },
  ),
  DisplayTokenStatEnabled: row(
    toggle,
    'true',
    'operation',
    'general',
    'Billing 相关 API 显示令牌额度而非用户额度',
    "Billing API shows the token's quota",
  ),
  'console_setting.checklist_enabled': row(
    toggle,
    'true',
    'operation',
    'general',
    '显示上手清单',
    'Show the checklist of first steps',
    { publicAs: 'checklist_enabled' },
  ),
  DemoSiteEnabled: row(toggle, 'false', 'operation', 'general', '演示站点模式', 'Demo site mode', {
    role: 100,
    publicAs: 'demo_site_enabled',
  }),
  SelfUseModeEnabled: row(toggle, 'false', 'operation', 'general', '自用模式', 'Self-use mode', {
    role: 100,
    publicAs: 'self_use_mode_enabled',
  }),
  DrawingEnabled: row(toggle, 'true', 'operation', 'drawing', '启用绘图功能', 'Enable drawing', {
    publicAs: 'enable_drawing',
  }),
  TaskEnabled: row(toggle, 'true', 'operation', 'drawing', '启用任务功能', 'Enable tasks', { publicAs: 'enable_task' }),
  MjNotifyEnabled: row(
    toggle,
    'false',
    'operation',
    'drawing',
    '允许回调（会泄露服务器 IP 地址）',
    "Allow callbacks (reveals the server's address)",
    { publicAs: 'mj_notify_enabled' },
  ),
  MjAccountFilterEnabled: row(
    toggle,
    'false',
    'operation',
    'drawing',
    '允许 AccountFilter 参数',
    'Allow the account filter parameter',
  ),
  MjForwardUrlEnabled: row(
    toggle,
    'true',
    'operation',
    'drawing',
    '开启之后将上游地址替换为服务器地址',
    'Replace upstream image addresses with ours',
  ),
  MjModeClearEnabled: row(
    toggle,
    'false',
    'operation',
    'drawing',
    '清除提示词中的模式参数',
    'Remove mode parameters from prompts',
  ),
  MjActionCheckSuccessEnabled: row(
    toggle,
    'true',
    'operation',
    'drawing',
    '检测必须等待绘图成功才能进行放大等操作',
    'Wait for success before further actions',
  ),
  CheckSensitiveEnabled: row(toggle, 'true', 'operation', 'words', '启用屏蔽词过滤功能', 'Filter blocked words'),
  CheckSensitiveOnPromptEnabled: row(toggle, 'true', 'operation', 'words', '启用 Prompt 检查', 'Check prompts'),
  StopOnSensitiveEnabled: row(
    toggle,
    'true',
    'operation',
    'words',
    '检测到屏蔽词时停止生成',
    'Stop when a blocked word appears',
  ),
  SensitiveWords: row(lines, 'test_sensitive', 'operation', 'words', '屏蔽词列表', 'Blocked words'),
  StreamCacheQueueLength: row(integer(0), '0', 'operation', 'words', '流缓存队列长度', 'Stream cache queue length'),
  LogRetentionDays: row(
    integer(0),
    '0',
    'operation',
    'logs',
    '日志保留天数（0 = 不清理）',
    'Days logs are kept (0 = for ever)',
    { role: 100 },
  ),
  LogConsumeEnabled: row(toggle, 'true', 'operation', 'logs', '启用额度消费日志记录', 'Record consumption', {
    role: 100,
  }),
  DataExportEnabled: row(toggle, 'true', 'operation', 'dashboard', '启用数据看板', 'Enable the dashboard', {
    publicAs: 'enable_data_export',
  }),
  DataExportInterval: row(
    integer(1),
    '5',
    'operation',
    'dashboard',
    '数据看板更新间隔（分钟）',
    'Dashboard interval (minutes)',
  ),
  DataExportDefaultTime: row(
    choice('hour', 'day', 'week'),
    'hour',
    'operation',
    'dashboard',
    '数据看板默认时间粒度',
    'Dashboard default granularity',
    { publicAs: 'data_export_default_time' },
  ),
  ChannelDisableThreshold: row(
    decimal(0),
    '5',
    'operation',
    'monitoring',
    '最长响应时间（秒）',
    'Longest response time (seconds)',
  ),
  QuotaRemindThreshold: row(integer(0), '1000', 'operation', 'monitoring', '额度提醒阈值', 'Quota reminder threshold'),
  AutomaticDisableChannelEnabled: row(
    toggle,
    'false',
    'operation',
    'monitoring',
    '失败时自动禁用通道',
    'Disable failing channels',
  ),
  AutomaticEnableChannelEnabled: row(
    toggle,
    'false',
    'operation',
    'monitoring',
    '成功时自动启用通道',
    'Enable recovered channels',
  ),
  AutomaticDisableKeywords: row(
    lines,
    'Your credit balance is too low\nThis organization has been disabled.\nYou exceeded your current quota\nPermission denied\nThe security token included in the request is invalid\nOperation not allowed\nYour account is not authorized',
    'operation',
    'monitoring',
    '自动禁用关键词',
    'Keywords that disable a channel',
  ),
  QuotaForNewUser: row(integer(0), '0', 'operation', 'quota', '新用户初始额度', 'Quota for new users'),
  PreConsumedQuota: row(integer(0), '500', 'operation', 'quota', '请求预扣费额度', 'Tokens a stream holds ahead'),
  HoldOvercommit: row(decimal(1, 100), '1', 'operation', 'quota', '冻结超额倍数', 'Overcommitment of holds'),
  OverrunLine: row(integer(0), '500000', 'operation', 'quota', '未付超支上限', 'Unpaid overrun that ends it'),
  QuotaForInviter: row(integer(0), '0', 'operation', 'quota', '邀请新用户奖励额度', 'Reward for inviting'),
  QuotaForInvitee: row(integer(0), '0', 'operation', 'quota', '新用户使用邀请码奖励额度', 'Reward for being invited'),
  ModelPrice: row(
    ratios,
    JSON.stringify(defaults.ModelPrice),
    'operation',
    'pricing',
    '模型固定价格',
    'Fixed prices per call (dollars)',
  ),
  ModelRatio: row(ratios, JSON.stringify(defaults.ModelRatio), 'operation', 'pricing', '模型倍率', 'Model ratios'),
  ...priceRatios,
  ContextTiers: row(
    tiers,
    JSON.stringify(defaults.ContextTiers),
    'operation',
    'pricing',
    '长上下文价格系数',
    'Price factors of long prompts',
  ),
  TierRatio: row(
    termTable,
    JSON.stringify(defaults.TierRatio),
    'operation',
    'pricing',
    '服务等级价格系数',
    'Price factors of service tiers, speeds and regions',
  ),
  ToolPrices: row(
    ratios,
    JSON.stringify(defaults.ToolPrices),
    'operation',
    'pricing',
    '工具单次价格（美元）',
    'Prices per tool call (dollars)',
  ),
  GroupRatio: row(ratios, JSON.stringify(defaults.GroupRatio), 'operation', 'pricing', '分组倍率', 'Group ratios'),
  GroupGroupRatio: row(
    ratioTable,
    '{}',
    'operation',
    'pricing',
    '用户分组对使用分组的倍率',
    'Ratios of a user group for a used group',
  ),
  ChannelCostRatio: row(
    ratios,
    '{}',
    'operation',
    'pricing',
    '渠道成本系数（渠道编号 → 相对列表价的成本）',
    'Cost of channels (channel id -> share of the list price)',
  ),
  UserUsableGroups: row(
    texts,
    JSON.stringify(defaults.UserUsableGroups),
    'operation',
    'pricing',
    '用户可选分组',
    'Groups users may choose',
  ),
  ModelRequestRateLimitEnabled: row(
    toggle,
    'false',
    'ratelimit',
    'limits',
    '启用用户模型请求速率限制',
    'Limit model requests per user',
  ),
  ModelRequestRateLimitDurationMinutes: row(
    integer(0),
    '1',
    'ratelimit',
    'limits',
    '限制周期（分钟）',
    'Period (minutes)',
  ),
  ModelRequestRateLimitCount: row(
    integer(0),
    '0',
    'ratelimit',
    'limits',
    '用户每周期最多请求次数',
    'Most requests per period (0 = unlimited)',
  ),
  ModelRequestRateLimitSuccessCount: row(
    integer(1),
    '1000',
    'ratelimit',
    'limits',
    '用户每周期最多请求完成次数',
    'Most successful requests per period',
  ),
  GroupLimits: row(
    limitTable,
    '{}',
    'ratelimit',
    'limits',
    '分组限制（每分钟请求数 rpm、每分钟令牌数 tpm、并发 concurrency）',
    'Limits of groups (rpm, tpm, concurrency)',
  ),
  'gemini.safety_settings': row(
    json('object'),
    '{"HARM_CATEGORY_CIVIC_INTEGRITY":"BLOCK_NONE","default":"OFF"}',
    'models',
    'gemini',
    'Gemini 安全设置',
    'Gemini safety settings',
  ),
  'gemini.version_settings': row(
    versionTable,
    '{"default":"v1beta","gemini-1.0-pro":"v1"}',
    'models',
    'gemini',
    'Gemini 版本设置',
    'Gemini API versions',
  ),
  'gemini.supported_imagine_models': row(
    json('array'),
    '["gemini-2.0-flash-exp-image-generation","gemini-2.0-flash-exp"]',
    'models',
    'gemini',
    '支持画图的 Gemini 模型',
    'Gemini models that draw',
  ),
  'gemini.thinking_adapter_enabled': row(
    toggle,
    'false',
    'models',
    'gemini',
    '启用 Gemini 思考后缀适配',
    'Gemini thinking suffixes',
  ),
  'gemini.thinking_adapter_budget_tokens_percentage': row(
    decimal(0.1, 1),
    '0.6',
    'models',
    'gemini',
    'Gemini 思考预算占比',
    'Gemini thinking budget share',
    { dependsOn: 'gemini.thinking_adapter_enabled' },
  ),
  'claude.model_headers_settings': row(
    json('object'),
    '{}',
    'models',
    'claude',
    'Claude 请求头覆盖',
    'Claude header overrides',
  ),
  'claude.default_max_tokens': row(
    json('object'),
    '{"default":8192}',
    'models',
    'claude',
    'Claude 缺省 MaxTokens',
    'Claude default max tokens',
  ),
  'claude.thinking_adapter_enabled': row(
    toggle,
    'true',
    'models',
    'claude',
    '启用 Claude 思考后缀适配',
    'Claude thinking suffixes',
  ),
  'claude.thinking_adapter_budget_tokens_percentage': row(
    decimal(0.1, 1),
    '0.8',
    'models',
    'claude',
    'Claude 思考预算占比',
    'Claude thinking budget share',
    { dependsOn: 'claude.thinking_adapter_enabled' },
  ),
  'global.pass_through_request_enabled': row(
    toggle,
    'false',
    'models',
    'global',
    '启用请求透传',
    'Pass requests through unchanged',
  ),
  'general_setting.route_trace_enabled': row(
    toggle,
    'false',
    'models',
    'global',
    '响应头显示路由过程（x-gateway-trace）',
    'Show the routing decision in a response header (x-gateway-trace)',
  ),
  'general_setting.cost_header_enabled': row(
    toggle,
    'false',
    'models',
    'global',
    '响应头显示本次费用（x-gateway-quota、x-gateway-cost-usd，仅非流式）',
    'Show what the call cost in response headers (x-gateway-quota, x-gateway-cost-usd; not for streams)',
  ),
  'general_setting.ping_interval_enabled': row(
    toggle,
    'false',
    'models',
    'global',
    '启用 Ping 间隔',
    'Send keep-alive pings',
  ),
  'general_setting.ping_interval_seconds': row(
    integer(1),
    '60',
    'models',
    'global',
    'Ping 间隔（秒）',
    'Ping interval (seconds)',
    { dependsOn: 'general_setting.ping_interval_enabled' },
  ),
  FileUploadPermission: row(integer(0), '0', 'legacy', 'legacy', '文件上传权限', 'File upload permission'),
  FileDownloadPermission: row(integer(0), '0', 'legacy', 'legacy', '文件下载权限', 'File download permission'),
  ImageUploadPermission: row(integer(0), '0', 'legacy', 'legacy', '图片上传权限', 'Image upload permission'),
  ImageDownloadPermission: row(integer(0), '0', 'legacy', 'legacy', '图片下载权限', 'Image download permission'),
} as const satisfies Record<string, OptionRow>;

export type OptionKey = keyof typeof options;
export type OptionValue<K extends OptionKey> = (typeof options)[K] extends OptionRow<infer T> ? T : never;

export const optionKeys = Object.keys(options) as OptionKey[];
export const isOptionKey = (key: string): key is OptionKey => Object.hasOwn(options, key);
export const optionRow = (key: OptionKey): OptionRow => options[key];

/** Text of an option; what is missing or was damaged by hand counts as the default. */
export function optionText(stored: ReadonlyMap<string, string>, key: OptionKey): string {
  const { kind, fallback } = optionRow(key);
  const value = stored.get(key);
  return value === undefined || kind.check(value) !== null ? fallback : value;
}

/** Value of an option from stored texts. */
export function optionValue<K extends OptionKey>(stored: ReadonlyMap<string, string>, key: K): OptionValue<K> {
  return optionRow(key).kind.parse(optionText(stored, key)) as OptionValue<K>;
}
