/** One sentence per option for forms: what it does, in which unit, what empty or zero means. */
import { type BucketOptionKey, bucketOptions } from './buckets.ts';
import type { OptionKey } from './options.ts';

const bucketHelp = Object.fromEntries(bucketOptions.map(({ key, help }) => [key, help])) as Record<
  BucketOptionKey,
  { readonly zh: string; readonly en: string }
>;

export const optionHelp: Readonly<Record<OptionKey, { readonly zh: string; readonly en: string }>> = {
  PasswordLoginEnabled: {
    zh: '关闭后只能通过第三方账户或通行密钥登录。',
    en: 'When off, people sign in with another provider or a passkey only.',
  },
  PasswordRegisterEnabled: {
    zh: '关闭后新用户只能通过第三方账户注册。',
    en: 'When off, new accounts come from other sign-in providers only.',
  },
  EmailVerificationEnabled: {
    zh: '注册时发送验证码到邮箱，需先配置邮件。',
    en: 'A code is sent to the address at registration; needs the mail settings.',
  },
  RegisterEnabled: {
    zh: '关闭后任何方式都不能注册新用户。',
    en: 'When off, nobody can create an account in any way.',
  },
  'general_setting.session_idle_hours': {
    zh: '浏览器在此时间内没有访问即需重新登录；无论如何，登录最长保持 30 天。',
    en: 'A browser that was not used for so long logs in again; no login lasts longer than 30 days in any case.',
  },
  GitHubOAuthEnabled: {
    zh: '需先填写下方的 Client ID 与密钥。',
    en: 'Needs the client ID and the secret of an OAuth app of yours.',
  },
  GitHubClientId: { zh: 'GitHub OAuth 应用的 Client ID。', en: 'The client ID of your GitHub OAuth app.' },
  GitHubClientSecret: {
    zh: 'GitHub OAuth 应用的密钥，只写不显示。',
    en: 'The secret of your GitHub OAuth app; written, never shown.',
  },
  'oidc.enabled': {
    zh: '通过任意 OpenID Connect 提供方登录。',
    en: 'Signs people in through any OpenID Connect provider.',
  },
  'oidc.client_id': { zh: '在提供方登记的客户端 ID。', en: 'The client ID registered with the provider.' },
  'oidc.client_secret': {
    zh: '在提供方登记的客户端密钥，只写不显示。',
    en: 'The client secret registered with the provider; written, never shown.',
  },
  'oidc.well_known': {
    zh: '提供方的发现文档地址，可由此读取以下三个端点。',
    en: 'The provider’s discovery document; the three endpoints below can be read from it.',
  },
  'oidc.issuer': {
    zh: '令牌中的签发者必须与此一致；留空则以令牌端点的回答为准。可由发现文档读取。',
    en: 'Tokens must name this issuer; empty takes whoever answers at the token endpoint. The discovery document tells it.',
  },
  'oidc.authorization_endpoint': {
    zh: '浏览器被带去登录的地址。',
    en: 'Where browsers are sent to sign in.',
  },
  'oidc.token_endpoint': { zh: '用授权码换取令牌的地址。', en: 'Where the code is exchanged for tokens.' },
  'oidc.user_info_endpoint': {
    zh: '读取用户名称与邮箱的地址。',
    en: 'Where the name and the address of the person are read.',
  },
  WeChatAuthEnabled: {
    zh: '通过公众号验证码登录，需要一个 WeChat Server。',
    en: 'Signs people in with a code from an official account; needs a WeChat server.',
  },
  WeChatServerAddress: { zh: 'WeChat Server 的访问地址。', en: 'Where the WeChat server answers.' },
  WeChatServerToken: {
    zh: '访问 WeChat Server 的凭证，只写不显示。',
    en: 'The credential for the WeChat server; written, never shown.',
  },
  WeChatAccountQRCodeImageURL: {
    zh: '登录窗口中显示的公众号二维码图片。',
    en: 'The picture people scan in the sign-in window.',
  },
  TelegramOAuthEnabled: {
    zh: '显示 Telegram 登录按钮，需先填写下方两项。',
    en: 'Shows the Telegram button; needs the two fields below.',
  },
  TelegramBotToken: {
    zh: '用于校验登录数据的 Bot 令牌，只写不显示。',
    en: 'Proves what Telegram says about a person; written, never shown.',
  },
  TelegramBotName: { zh: 'Bot 的用户名，不带 @。', en: 'The bot’s user name, without the @.' },
  LinuxDOOAuthEnabled: {
    zh: '需先填写下方的 Client ID 与密钥。',
    en: 'Needs the client ID and the secret below.',
  },
  LinuxDOClientId: { zh: 'Linux DO 应用的 Client ID。', en: 'The client ID of your Linux DO app.' },
  LinuxDOClientSecret: {
    zh: 'Linux DO 应用的密钥，只写不显示。',
    en: 'The secret of your Linux DO app; written, never shown.',
  },
  TurnstileCheckEnabled: {
    zh: '注册、登录与重置密码前要求通过人机验证。',
    en: 'Asks for a bot check before registration, sign-in and password reset.',
  },
  TurnstileSiteKey: { zh: '页面中使用的公开密钥。', en: 'The public key used in the page.' },
  TurnstileSecretKey: {
    zh: '服务器校验时使用的密钥，只写不显示。',
    en: 'The key the server checks answers with; written, never shown.',
  },
  EmailDomainRestrictionEnabled: {
    zh: '只接受下方列出的邮箱域名。',
    en: 'Accepts addresses of the domains below only.',
  },
  EmailAliasRestrictionEnabled: {
    zh: '拒绝 @ 之前含有 + 或 . 的邮箱地址。',
    en: 'Refuses addresses with a + or a dot before the @.',
  },
  EmailDomainWhitelist: { zh: '以逗号分隔。', en: 'Separated by commas.' },
  SMTPServer: {
    zh: '例如 smtp.example.com，留空则不发送邮件。',
    en: 'For example smtp.example.com; empty sends no mail.',
  },
  SMTPPort: { zh: '通常为 587，使用 SSL 时为 465。', en: 'Usually 587, with SSL 465.' },
  SMTPAccount: { zh: '登录邮件服务器的用户名。', en: 'The name the mail server knows you by.' },
  SMTPFrom: { zh: '显示为发件人的地址，留空则使用账户。', en: 'Shown as the sender; empty takes the account.' },
  SMTPToken: {
    zh: '邮件服务器的密码或授权码，只写不显示。',
    en: 'The mail server’s password or app code; written, never shown.',
  },
  SMTPSSLEnabled: {
    zh: '从一开始就加密连接；关闭时使用 STARTTLS（若服务器支持）。',
    en: 'Encrypts from the first byte; off uses STARTTLS where the server offers it.',
  },
  SMTPAllowPlainLocal: {
    zh: '仅对 localhost、127.0.0.0/8 与 ::1 有效；其他服务器必须加密，否则不发送密码。',
    en: 'For localhost, 127.0.0.0/8 and ::1 alone; any other server must encrypt, or the password is not sent.',
  },
  ServerAddress: {
    zh: '用户访问本站的地址，用于邮件、回调与示例代码。',
    en: 'How people reach this site; used in mails, callbacks and snippets.',
  },
  'general_setting.trusted_proxies': {
    zh: '以逗号分隔；留空则只看连接的来源地址。',
    en: 'Separated by commas; empty believes the connection alone, as without a proxy.',
  },
  WorkerUrl: {
    zh: '为同类控制台保留：外部地址由本机检查后直接访问。',
    en: 'Kept for consoles of this family: outside addresses are checked and called from here.',
  },
  WorkerValidKey: {
    zh: '为同类控制台保留，只写不显示。',
    en: 'Kept for consoles of this family; written, never shown.',
  },
  PayAddress: {
    zh: '易支付接口的地址，留空则关闭在线充值。',
    en: 'The Epay interface; empty turns this kind of top-up off.',
  },
  EpayId: { zh: '易支付分配的商户编号。', en: 'The merchant number Epay gave you.' },
  EpayKey: { zh: '用于签名与校验回调，只写不显示。', en: 'Signs orders and proves callbacks; written, never shown.' },
  Price: { zh: '每充值 1 美元额度需支付的金额（元）。', en: 'What one dollar of quota costs, in yuan.' },
  StripeApiSecret: {
    zh: '以 sk_ 开头，留空则关闭 Stripe；只写不显示。',
    en: 'Begins with sk_; empty turns Stripe off. Written, never shown.',
  },
  StripeWebhookSecret: {
    zh: '以 whsec_ 开头，用于校验回调；只写不显示。',
    en: 'Begins with whsec_ and proves callbacks; written, never shown.',
  },
  StripeUnitPrice: { zh: '每充值 1 美元额度收取的金额。', en: 'What one dollar of quota costs in that currency.' },
  StripeCurrency: { zh: '例如 usd、eur、cny。', en: 'For example usd, eur, cny.' },
  MinTopUp: { zh: '一次充值至少的美元数。', en: 'Smaller orders are refused.' },
  TopupGroupRatio: {
    zh: '各用户分组充值时的价格倍率，例如 0.9 为九折。',
    en: 'Multiplies the price of a top-up by user group; 0.9 is ten percent off.',
  },
  CustomCallbackAddress: {
    zh: '支付平台回调使用的地址，留空则使用服务器地址。',
    en: 'Where payment services call back; empty uses the server address.',
  },
  Notice: { zh: '支持 Markdown 与 HTML，访问者会看到一次。', en: 'Markdown or HTML; every visitor sees it once.' },
  SystemName: { zh: '显示在顶栏、标题与邮件中。', en: 'Shown in the top bar, titles and mails.' },
  Logo: { zh: '图片地址，留空则使用内置图标。', en: 'Address of a picture; empty shows the built-in one.' },
  About: {
    zh: '支持 Markdown 与 HTML；填写网址则嵌入该页面。',
    en: 'Markdown or HTML; an address is shown in a frame.',
  },
  HomePageContent: {
    zh: '支持 Markdown 与 HTML；填写网址则嵌入该页面，留空显示内置首页。',
    en: 'Markdown or HTML; an address is shown in a frame, empty shows the built-in page.',
  },
  Footer: { zh: '支持 HTML，留空显示内置页脚。', en: 'HTML; empty shows the built-in footer.' },
  TopUpLink: { zh: '购买兑换码的网址，留空则不显示。', en: 'Where redemption codes are sold; empty shows no link.' },
  'general_setting.docs_link': {
    zh: '显示在顶栏，留空则不显示。',
    en: 'Linked from the top bar; empty shows no link.',
  },
  'general_setting.release_url': {
    zh: '返回最新版本信息的地址，留空则不检查。',
    en: 'Tells the newest version; empty asks nobody.',
  },
  Chats: {
    zh: 'JSON 数组，每项为 {"名称": "地址"}；{key} 与 {address} 会被替换。',
    en: 'A JSON list of {"name": "address"}; {key} and {address} are filled in.',
  },
  DefaultCollapseSidebar: { zh: '首次访问时侧边栏是否收起。', en: 'How the sidebar stands on a first visit.' },
  QuotaPerUnit: {
    zh: '1 美元等于多少额度；修改后所有余额的含义都会改变。',
    en: 'Quota in one dollar; changing it changes what every balance means.',
  },
  RetryTimes: {
    zh: '失败后最多再尝试多少个渠道，0 为不重试。',
    en: 'How many further channels are tried after a failure; 0 tries none.',
  },
  DisplayInCurrencyEnabled: { zh: '关闭后显示原始额度。', en: 'When off, raw quota is shown.' },
  DisplayTokenStatEnabled: {
    zh: '影响客户端读取的账单接口。',
    en: 'Concerns the billing endpoints that clients read.',
  },
  'console_setting.checklist_enabled': {
    zh: '管理员在数据看板上看到尚未完成的步骤。',
    en: 'Administrators see the steps still open on the dashboard.',
  },
  DemoSiteEnabled: {
    zh: '显示演示标记；除登录外拒绝所有人的任何修改，只有超级管理员仍可修改配置项，以便关闭它。',
    en: 'Refuses all changes but signing in, to everybody; only the super administrator still changes options, this one too.',
  },
  SelfUseModeEnabled: {
    zh: '单人使用：隐藏计费相关功能，未设置价格的模型也可使用。',
    en: 'For one person: hides what concerns payment and lets unpriced models through.',
  },
  DrawingEnabled: { zh: '显示绘图日志并接受绘图请求。', en: 'Shows the drawing log and accepts drawing requests.' },
  TaskEnabled: { zh: '显示任务日志并接受音乐任务。', en: 'Shows the task log and accepts music tasks.' },
  MjNotifyEnabled: {
    zh: '把客户端的回调地址转给上游。',
    en: 'Passes the client’s callback address on to the upstream.',
  },
  MjAccountFilterEnabled: {
    zh: '把客户端的账户筛选参数转给上游。',
    en: 'Passes the client’s account filter on to the upstream.',
  },
  MjForwardUrlEnabled: {
    zh: '图片经由本站访问，不暴露上游地址。',
    en: 'Pictures are fetched through this site, so that the upstream stays unknown.',
  },
  MjModeClearEnabled: {
    zh: '去除 --fast、--relax、--turbo 等参数。',
    en: 'Takes --fast, --relax and --turbo out of prompts.',
  },
  MjActionCheckSuccessEnabled: {
    zh: '原图尚未完成时拒绝放大、变换等操作。',
    en: 'Refuses upscales and variations of a picture that is not finished.',
  },
  CheckSensitiveEnabled: { zh: '总开关，关闭后不作任何检查。', en: 'The main switch; off checks nothing.' },
  CheckSensitiveOnPromptEnabled: {
    zh: '请求中含有屏蔽词时直接拒绝，不计费。',
    en: 'Refuses requests with a blocked word before they cost anything.',
  },
  StopOnSensitiveEnabled: {
    zh: '为导入的设置保留；目前只检查请求，不检查回答。',
    en: 'Kept for imported settings; requests are checked, answers are not.',
  },
  SensitiveWords: { zh: '一行一个，不区分大小写。', en: 'One per line; upper and lower case are the same.' },
  StreamCacheQueueLength: {
    zh: '为导入的设置保留，本网关不使用。',
    en: 'Kept for imported settings; this gateway does not use it.',
  },
  LogRetentionDays: {
    zh: '超过天数的用量日志会自动且永久删除；余额不受影响。',
    en: 'Older usage logs are deleted by themselves and for good; balances are not touched.',
  },
  LogConsumeEnabled: {
    zh: '关闭后仍然计费，但不再记录每次请求。',
    en: 'When off, requests are still charged but leave no row.',
  },
  DataExportEnabled: { zh: '关闭后侧边栏不显示数据看板。', en: 'When off, the sidebar has no dashboard.' },
  DataExportInterval: {
    zh: '为兼容其它客户端保留；统计总是最新的。',
    en: 'Kept for other clients; the figures here are always current.',
  },
  DataExportDefaultTime: { zh: '打开看板时的时间粒度。', en: 'The step of time when the dashboard opens.' },
  ChannelDisableThreshold: {
    zh: '全部测试时超过该时间的渠道会被自动禁用，0 为不限。',
    en: 'A round of tests disables channels that take longer; 0 sets no limit.',
  },
  QuotaRemindThreshold: {
    zh: '余额低于该额度时通知用户，每 2 小时最多一次。',
    en: 'People are told when their balance falls below; once in two hours at most.',
  },
  AutomaticDisableChannelEnabled: {
    zh: '密钥失效或账户欠费时禁用渠道；限流只会暂停。',
    en: 'Disables a channel whose key or account is of no use; rate limits only pause it.',
  },
  AutomaticEnableChannelEnabled: {
    zh: '自动禁用的渠道测试成功后重新启用。',
    en: 'Brings back a channel that disabled itself, once a test passes.',
  },
  AutomaticDisableKeywords: {
    zh: '一行一个；上游错误中出现时禁用渠道，不区分大小写。',
    en: 'One per line; an upstream error with one of them disables the channel.',
  },
  QuotaForNewUser: { zh: '注册时赠送的额度。', en: 'Quota given at registration.' },
  PreConsumedQuota: {
    zh: '实时会话开始时按此令牌数冻结；超额冻结时，流式回答也按此提前冻结，至少 4096。',
    en: 'Output tokens a realtime talk holds at first, and at least 4,096 a stream ahead where holds are overcommitted.',
  },
  HoldOvercommit: {
    zh: '用户进行中请求的最高费用之和不超过余额的这么多倍。1 为精确；用户预付时建议 4；最坏损失为（倍数 − 1）× 余额。',
    en: 'Open requests may cost this many balances. 1 is exact; 4 is advised where users pay ahead; worst loss (n - 1) balances.',
  },
  OverrunLine: {
    zh: '用户尚未补回的超支达到此额度后，不再享受超额倍数。',
    en: 'Who owes this much quota of overrun is not overcommitted any more.',
  },
  QuotaForInviter: { zh: '被邀请者注册后，邀请者获得的额度。', en: 'Quota for whoever brought a new user.' },
  QuotaForInvitee: { zh: '使用邀请码注册时额外获得的额度。', en: 'Extra quota for registering with an invitation.' },
  ModelPrice: {
    zh: 'JSON：模型 → 每次调用的美元价格；优先于倍率。',
    en: 'JSON: model -> dollars per call; goes before a ratio.',
  },
  ModelRatio: {
    zh: 'JSON：模型 → 倍率；1 为每百万输入令牌 2 美元。',
    en: 'JSON: model -> ratio; 1 is $2 for a million input tokens.',
  },
  ...bucketHelp,
  ContextTiers: {
    zh: 'JSON：模型 → 提示超过某长度后的价格系数。',
    en: 'JSON: model -> factors that hold above a length of the prompt.',
  },
  TierRatio: {
    zh: 'JSON：模型或前缀* → service_tier:priority 等 → 价格系数。没有系数的取值不会发往上游。',
    en: 'JSON: model or beginning* -> service_tier:priority and the like -> factor. Others never go upstream.',
  },
  ToolPrices: {
    zh: 'JSON：工具 或 工具:模型（可用前缀*）→ 每次调用的美元价格。',
    en: 'JSON: tool, or tool:model (the model may be a beginning*) -> dollars per call.',
  },
  GroupRatio: {
    zh: 'JSON：分组 → 所有价格的倍率。',
    en: 'JSON: group -> factor on every price.',
  },
  GroupGroupRatio: {
    zh: 'JSON：用户分组 → 使用的分组 → 倍率；优先于分组倍率。',
    en: 'JSON: group of the user -> group used -> factor; goes before the group ratio.',
  },
  ChannelCostRatio: {
    zh: 'JSON：渠道编号 → 你的成本占列表价的比例，用于计算利润。',
    en: 'JSON: channel id -> your cost as a share of the list price; margins follow from it.',
  },
  UserUsableGroups: {
    zh: 'JSON：分组 → 说明；用户可为令牌选择这些分组。',
    en: 'JSON: group -> description; people may pick these for their tokens.',
  },
  ModelRequestRateLimitEnabled: {
    zh: '按用户限制周期内的请求次数，超出返回 429。',
    en: 'Counts the requests of each user in a period; more are answered with 429.',
  },
  ModelRequestRateLimitDurationMinutes: { zh: '计数的时间窗口。', en: 'The window that is counted.' },
  ModelRequestRateLimitCount: { zh: '包括失败的请求，0 为不限。', en: 'Failed ones count too; 0 sets no limit.' },
  ModelRequestRateLimitSuccessCount: { zh: '只计算成功的请求。', en: 'Only requests that succeeded count.' },
  GroupLimits: {
    zh: 'JSON：分组 → {"rpm": 60, "tpm": 100000, "concurrency": 5}，省略的不限。',
    en: 'JSON: group -> {"rpm": 60, "tpm": 100000, "concurrency": 5}; what is left out is unlimited.',
  },
  'gemini.safety_settings': {
    zh: 'JSON：类别 → 阈值；请求未指定时使用。',
    en: 'JSON: category -> threshold, for requests that name none.',
  },
  'gemini.version_settings': {
    zh: 'JSON：模型 → API 版本；default 用于其它模型。',
    en: 'JSON: model -> version of the API; default is for all others.',
  },
  'gemini.supported_imagine_models': {
    zh: 'JSON 数组：可以在对话中返回图片的模型。',
    en: 'A JSON list of models that may answer a chat with pictures.',
  },
  'gemini.thinking_adapter_enabled': {
    zh: '模型名后缀 -thinking、-nothinking 与 -thinking-数字 决定思考预算。',
    en: 'The suffixes -thinking, -nothinking and -thinking-NUMBER of a model’s name decide how much it thinks.',
  },
  'gemini.thinking_adapter_budget_tokens_percentage': {
    zh: '思考可使用最大输出长度的比例，0.1 至 1。',
    en: 'Share of the longest answer that may be thinking, 0.1 to 1.',
  },
  'claude.model_headers_settings': {
    zh: 'JSON：模型 → 额外的请求头。',
    en: 'JSON: model -> headers that are added.',
  },
  'claude.default_max_tokens': {
    zh: 'JSON：模型 → 请求未写时的最大输出长度；default 用于其它模型。',
    en: 'JSON: model -> longest answer where the request names none; default is for all others.',
  },
  'claude.thinking_adapter_enabled': {
    zh: '模型名后缀 -thinking 开启思考。',
    en: 'The suffix -thinking of a model’s name turns thinking on.',
  },
  'claude.thinking_adapter_budget_tokens_percentage': {
    zh: '思考可使用最大输出长度的比例，0.1 至 1。',
    en: 'Share of the longest answer that may be thinking, 0.1 to 1.',
  },
  'global.pass_through_request_enabled': {
    zh: '所有渠道的请求原样转发，除模型名外不作修改。',
    en: 'On every channel nothing but the model’s name is edited.',
  },
  'general_setting.route_trace_enabled': {
    zh: '客户端可看到尝试了哪些渠道，只显示编号。',
    en: 'Clients see which channels were tried, by number.',
  },
  'general_setting.cost_header_enabled': {
    zh: '客户端可直接读到每次请求的费用。',
    en: 'Clients can read the price of a call from its answer.',
  },
  'general_setting.ping_interval_enabled': {
    zh: '上游沉默时向客户端发送心跳，避免中间代理断开。',
    en: 'Keeps proxies from closing a stream while the upstream is silent.',
  },
  'general_setting.ping_interval_seconds': { zh: '两次心跳之间的秒数。', en: 'Seconds between two pings.' },
  FileUploadPermission: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  FileDownloadPermission: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  ImageUploadPermission: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  ImageDownloadPermission: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
};
