/** Who may write each option, and why: the whole list, walked over HTTP by a user, an administrator and the super administrator. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OptionKey, optionKeys, optionRow } from '../../server/contract/options.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

const signIn = 'how people get in';
const mail = 'who sends the letters that carry sign-in links';
const payment = 'what is paid, to whom, and how a payment is proven';
const invoices = 'what a document about a payment says, and who issues it';
const money = 'what an amount means when somebody pays';
const secret = 'a secret, or what decides where one is sent';
const address = 'an address that browsers, letters or services of others follow in the site’s name';
const proof = 'what remains to prove what was used';
const owner = 'what the site is, chosen at set-up';
const words = 'words in a frame where nothing runs and nothing can be typed';
const check = 'how the console looks or counts; leads nowhere';
const relay = 'how requests are routed, limited or told upstream: an administrator’s daily work';
const prices = 'prices of models: an administrator may give quota away as well';
const alertOptions = 'when operators are told of trouble, and in which words';
const place = 'where a copy of everything is put, and how many stay';
const idle = 'kept for imported settings, without effect';

const rights: Readonly<Record<OptionKey, readonly [role: 10 | 100, why: string]>> = {
  PasswordLoginEnabled: [100, signIn],
  PasswordRegisterEnabled: [100, signIn],
  EmailVerificationEnabled: [100, signIn],
  RegisterEnabled: [100, signIn],
  InvitationRequired: [100, signIn],
  RegistrationsPerIp: [100, signIn],
  InvitationGiftsAfterTopUp: [10, prices],
  InvitationGiftsPerIp: [10, prices],
  'token_setting.max_user_tokens': [10, relay],
  'budgets.new_user': [10, relay],
  'budgets.new_key': [10, relay],
  'budgets.leak_stop': [10, relay],
  GitHubOAuthEnabled: [100, signIn],
  GitHubClientId: [100, signIn],
  GitHubClientSecret: [100, secret],
  'agents.sign_in': [100, signIn],
  'agents.token_minutes': [100, signIn],
  'agents.claude_env': [100, signIn],
  'oidc.enabled': [100, signIn],
  'oidc.client_id': [100, signIn],
  'oidc.client_secret': [100, secret],
  'oidc.well_known': [100, address],
  'oidc.issuer': [100, signIn],
  'general_setting.session_idle_hours': [100, signIn],
  'oidc.authorization_endpoint': [100, address],
  'oidc.token_endpoint': [100, secret],
  'oidc.user_info_endpoint': [100, secret],
  WeChatAuthEnabled: [100, signIn],
  WeChatServerAddress: [100, secret],
  WeChatServerToken: [100, secret],
  WeChatAccountQRCodeImageURL: [100, address],
  TelegramOAuthEnabled: [100, signIn],
  TelegramBotToken: [100, secret],
  TelegramBotName: [100, signIn],
  LinuxDOOAuthEnabled: [100, signIn],
  LinuxDOClientId: [100, signIn],
  LinuxDOClientSecret: [100, secret],
  TurnstileCheckEnabled: [100, signIn],
  TurnstileSiteKey: [100, signIn],
  TurnstileSecretKey: [100, secret],
  EmailDomainRestrictionEnabled: [100, signIn],
  EmailAliasRestrictionEnabled: [100, signIn],
  EmailDomainWhitelist: [100, signIn],
  SMTPServer: [100, secret],
  SMTPPort: [100, mail],
  SMTPAccount: [100, mail],
  SMTPFrom: [100, mail],
  SMTPToken: [100, secret],
  SMTPSSLEnabled: [100, secret],
  SMTPAllowPlainLocal: [100, secret],
  ServerAddress: [100, address],
  'general_setting.trusted_proxies': [100, 'whose word about a caller’s address is believed'],
  WorkerUrl: [100, secret],
  WorkerValidKey: [100, secret],
  PayAddress: [100, payment],
  EpayId: [100, payment],
  EpayKey: [100, secret],
  Price: [100, payment],
  StripeApiSecret: [100, secret],
  StripeWebhookSecret: [100, secret],
  StripeUnitPrice: [100, payment],
  StripeCurrency: [100, payment],
  'invoice.seller_name': [100, invoices],
  'invoice.seller_details': [100, invoices],
  'invoice.seller_tax_id': [100, invoices],
  'invoice.tax_name': [100, invoices],
  'invoice.tax_rate': [100, invoices],
  'invoice.note': [100, invoices],
  'invoice.credit_note': [100, invoices],
  'invoice.statement_bills': [100, invoices],
  'invoice.time_zone': [100, invoices],
  MinTopUp: [100, payment],
  TopupGroupRatio: [100, payment],
  CustomCallbackAddress: [100, address],
  Notice: [10, words],
  SystemName: [100, 'stands in letters, authenticators and passkey prompts as the site’s name'],
  Logo: [100, address],
  About: [100, 'may be a page from elsewhere inside the console'],
  'console_setting.home_text': [100, 'stands on the page that every stranger sees'],
  HomePageContent: [100, 'may be a page from elsewhere inside the console'],
  Footer: [10, words],
  TopUpLink: [100, address],
  'general_setting.docs_link': [100, address],
  'general_setting.release_url': [100, address],
  Chats: [100, 'addresses that are handed keys of users'],
  DefaultCollapseSidebar: [10, check],
  QuotaPerUnit: [100, money],
  RetryTimes: [10, relay],
  DisplayInCurrencyEnabled: [100, money],
  DisplayTokenStatEnabled: [10, check],
  'console_setting.checklist_enabled': [10, check],
  DemoSiteEnabled: [100, owner],
  SelfUseModeEnabled: [100, owner],
  DrawingEnabled: [10, relay],
  TaskEnabled: [10, relay],
  MjNotifyEnabled: [10, 'passes on what a client names, for that client’s own request'],
  MjAccountFilterEnabled: [10, relay],
  MjForwardUrlEnabled: [10, relay],
  MjModeClearEnabled: [10, relay],
  MjActionCheckSuccessEnabled: [10, relay],
  CheckSensitiveEnabled: [10, relay],
  CheckSensitiveOnPromptEnabled: [10, relay],
  StopOnSensitiveEnabled: [10, idle],
  SensitiveWords: [10, relay],
  StreamCacheQueueLength: [10, idle],
  LogRetentionDays: [100, proof],
  ResponseItemDays: [100, proof],
  'traffic_setting.day_days': [100, proof],
  'traffic_setting.hour_days': [100, proof],
  'traffic_setting.minute_hours': [100, proof],
  LogConsumeEnabled: [100, proof],
  'names.headers': [100, proof],
  'names.keys': [100, proof],
  DataExportEnabled: [10, check],
  DataExportInterval: [10, idle],
  DataExportDefaultTime: [10, check],
  ChannelDisableThreshold: [10, relay],
  QuotaRemindThreshold: [10, check],
  AutomaticDisableChannelEnabled: [10, relay],
  AutomaticEnableChannelEnabled: [10, relay],
  AutomaticDisableKeywords: [10, relay],
  'alert_setting.muted': [10, alertOptions],
  'alert_setting.language': [10, alertOptions],
  'alert_setting.repeat_hours': [10, alertOptions],
  'alert_setting.spend_limit': [10, alertOptions],
  'alert_setting.spend_factor': [10, alertOptions],
  'alert_setting.cache_requests': [10, alertOptions],
  'alert_setting.balance_limit': [10, alertOptions],
  'alert_setting.disk_gb': [10, alertOptions],
  'alert_setting.failed_attempts': [10, alertOptions],
  'alert_setting.failed_minutes': [10, alertOptions],
  'alert_setting.failed_percent': [10, alertOptions],
  'alert_setting.expiry_days': [10, alertOptions],
  'alert_setting.mail_to': [100, secret],
  'alert_setting.webhook_url': [100, secret],
  'alert_setting.webhook_secret': [100, secret],
  'alert_setting.slack_url': [100, secret],
  'alert_setting.discord_url': [100, secret],
  'alert_setting.feishu_url': [100, secret],
  'alert_setting.feishu_secret': [100, secret],
  'alert_setting.dingtalk_url': [100, secret],
  'alert_setting.dingtalk_secret': [100, secret],
  'alert_setting.wecom_url': [100, secret],
  'alert_setting.telegram_token': [100, secret],
  'alert_setting.telegram_chat': [100, secret],
  'alert_setting.bark_url': [100, secret],
  'alert_setting.ntfy_url': [100, secret],
  'alert_setting.ntfy_token': [100, secret],
  'backup_setting.every_hours': [100, place],
  'backup_setting.keep': [100, place],
  'backup_setting.folder': [100, place],
  'backup_setting.s3_bucket': [100, place],
  'backup_setting.s3_endpoint': [100, secret],
  'backup_setting.s3_region': [100, place],
  'backup_setting.s3_prefix': [100, place],
  'backup_setting.s3_key_id': [100, secret],
  'backup_setting.s3_secret': [100, secret],
  QuotaForNewUser: [10, prices],
  PreConsumedQuota: [10, relay],
  QuotaForInviter: [10, prices],
  QuotaForInvitee: [10, prices],
  ModelPrice: [10, prices],
  ModelRatio: [10, prices],
  CacheRatio: [10, prices],
  CreateCacheRatio: [10, prices],
  CreateCache1hRatio: [10, prices],
  CreateCache12hRatio: [10, prices],
  TierFactors: [10, prices],
  PriceDates: [10, prices],
  CompletionRatio: [10, prices],
  TierRatio: [10, prices],
  ImageRatio: [10, prices],
  AudioRatio: [10, prices],
  VideoRatio: [10, prices],
  AudioCompletionRatio: [10, prices],
  ContextTiers: [10, prices],
  ToolPrices: [10, prices],
  'price_list.address': [100, address],
  'price_list.every_hours': [100, address],
  GroupRatio: [10, prices],
  HoldAllowance: [10, relay],
  HoldOvercommit: [10, relay],
  OverrunLine: [10, relay],
  GroupGroupRatio: [10, prices],
  ChannelCostRatio: [10, prices],
  AutoGroups: [10, prices],
  DefaultUseAutoGroup: [10, prices],
  UserUsableGroups: [10, prices],
  ModelRequestRateLimitEnabled: [10, relay],
  ModelRequestRateLimitDurationMinutes: [10, relay],
  ModelRequestRateLimitCount: [10, relay],
  ModelRequestRateLimitSuccessCount: [10, relay],
  GroupLimits: [10, relay],
  'gemini.safety_settings': [10, relay],
  model_rules: [10, relay],
  request_rules: [100, secret],
  'gemini.version_settings': [10, 'a part of the upstream’s path, nothing but a version'],
  'gemini.supported_imagine_models': [10, relay],
  'gemini.thinking_adapter_enabled': [10, relay],
  'gemini.thinking_adapter_budget_tokens_percentage': [10, relay],
  'claude.model_headers_settings': [10, relay],
  'claude.default_max_tokens': [10, relay],
  'claude.thinking_adapter_enabled': [10, relay],
  'claude.thinking_adapter_budget_tokens_percentage': [10, relay],
  'global.pass_through_request_enabled': [10, relay],
  'general_setting.route_trace_enabled': [10, relay],
  'general_setting.responses_sockets': [10, relay],
  'general_setting.cost_header_enabled': [10, relay],
  'general_setting.ping_interval_enabled': [10, relay],
  'general_setting.ping_interval_seconds': [10, relay],
  'general_setting.keep_alive_seconds': [10, relay],
  'general_setting.blank_seconds': [10, relay],
  'general_setting.short_wait_seconds': [10, relay],
  'general_setting.plain_weights': [10, relay],
  'general_setting.first_event_seconds': [10, relay],
  'general_setting.first_answer_seconds': [10, relay],
  'general_setting.upstream_idle_seconds': [10, relay],
  FileUploadPermission: [10, idle],
  FileDownloadPermission: [10, idle],
  ImageUploadPermission: [10, idle],
  ImageDownloadPermission: [10, idle],
  ChatLink: [100, address],
  ChatLink2: [100, address],
};

let api: ApiFixture;
let callers: Readonly<Record<number, Headers>>;
beforeAll(async () => {
  api = await createApiFixture();
  callers = {
    1: (await api.addUser('user', 1)).headers,
    10: (await api.addUser('admin', 10)).headers,
    100: (await api.addUser('owner', 100)).headers,
  };
});
afterAll(() => api.close());

const put = async (key: string, value: string, role: number): Promise<string> => {
  const { body } = await api.send('PUT', '/api/option/', { key, value }, callers[role]);
  return body.success === true ? 'written' : (body.code ?? '');
};

test('the list names every option once', () => {
  expect(
    optionKeys.filter((key) => !Object.hasOwn(rights, key)),
    'who may write these options? Say it in `rights` above',
  ).toEqual([]);
  expect(
    Object.keys(rights).filter((key) => !optionKeys.some((one) => one === key)),
    'these options are gone: take them out of `rights` above',
  ).toEqual([]);
});

test.each(Object.entries(rights))('%s is written by role %s alone', async (key, [min]) => {
  const row = optionRow(key as OptionKey);
  expect(row.role).toBe(min);
  const secretly = row.kind.check('sk-secret') === null ? 'sk-secret' : 'https://hooks.example/sk-secret';
  const value = row.secret ? secretly : row.fallback;
  expect(await put(key, value, 1)).toBe('role_too_low');
  expect(await put(key, value, 10)).toBe(min > 10 ? 'option_root_only' : 'written');
  expect(await put(key, value, 100)).toBe('written');
  const reset = async (role: number) => (await api.send('POST', '/api/option/reset', { key }, callers[role])).body.code;
  expect(await reset(10)).toBe(min > 10 ? 'option_root_only' : undefined);
});

test('after each was written and reset, an administrator reads what it was, and no secret', async () => {
  const listed = (await api.send('GET', '/api/option/details', undefined, callers[10])).body.data as readonly {
    readonly key: string;
    readonly value: string;
  }[];
  const expected = optionKeys.map((key) => [key, optionRow(key).secret ? '' : optionRow(key).fallback]);
  expect(Object.fromEntries(listed.map(({ key, value }) => [key, value]))).toEqual(Object.fromEntries(expected));
});

/** Rows a browser, a letter or a server of ours follows. */
const bases = ['WeChatServerAddress', 'ServerAddress', 'WorkerUrl', 'PayAddress', 'CustomCallbackAddress'] as const;
const addresses = [
  'oidc.well_known',
  'oidc.authorization_endpoint',
  'oidc.token_endpoint',
  'oidc.user_info_endpoint',
  'TopUpLink',
  'general_setting.docs_link',
  'general_setting.release_url',
  'price_list.address',
  'backup_setting.s3_endpoint',
  'alert_setting.webhook_url',
  'alert_setting.slack_url',
  'alert_setting.discord_url',
  'alert_setting.feishu_url',
  'alert_setting.dingtalk_url',
  'alert_setting.wecom_url',
  'alert_setting.bark_url',
  'alert_setting.ntfy_url',
] as const;
/** With places to fill in; schemes of programs on a desk are allowed. */
const templates = ['ChatLink', 'ChatLink2'] as const;
const images = ['Logo', 'WeChatAccountQRCodeImageURL'] as const;

test('every row that looks like an address is known as one', () => {
  const named = optionKeys.filter((key) => /url|address|link|endpoint|well_known|logo/i.test(key));
  const switches = named.filter((key) => optionRow(key).kind.name === 'switch');
  expect(named.filter((key) => !switches.includes(key)).sort()).toEqual(
    [...bases, ...addresses, ...images, ...templates].sort() as string[],
  );
});

const hostile = [
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  ' java\nscript:alert(1)',
  'data:text/html,<script>1</script>',
  'data:image/svg+xml,<svg onload=1>',
  'vbscript:x',
  'file:///etc/passwd',
  'blob:https://a.example/1',
  '//evil.example',
  '/\\evil.example',
  'evil.example',
  'ftp://a.example',
  'https://',
  'https://a.example@evil.example',
  'https://user:word@evil.example',
  'https://a.example/"><img>',
  'https://a.example\\@evil.example',
  'https://a.exa mple',
];

test.each([...bases, ...addresses, ...images])('%s leads to the web or nowhere', async (key) => {
  for (const value of hostile) expect([value, await put(key, value, 100)]).toEqual([value, 'option_invalid']);
  for (const value of ['https://a.example', 'http://127.0.0.1:3000', 'https://a.example/sub', ''])
    expect([value, await put(key, value, 100)]).toEqual([value, 'written']);
});

test('chat links may start programs, and run nothing', async () => {
  for (const value of hostile.slice(0, 8)) {
    expect(await put('Chats', JSON.stringify([{ name: value }]), 100)).toBe('option_invalid');
    expect(await put('Chats', JSON.stringify([{ name: { deep: [value] } }]), 100)).toBe('option_invalid');
  }
  const program = '[{"a":"cherrystudio://providers/api-keys?v={key}"},{"b":"https://chat.example/?key={key}"}]';
  expect(await put('Chats', program, 100)).toBe('written');
});

test('a version is a version', async () => {
  for (const version of ['../../x', '..', 'v1/../../y', 'v1?x', 'v1#', 'v1%2f..', 1])
    expect(await put('gemini.version_settings', JSON.stringify({ default: version }), 10)).toBe('option_invalid');
  expect(await put('gemini.version_settings', '{"default":"v1beta","m":"v1"}', 10)).toBe('written');
});

test.each(bases)('slashes at the end of %s are no part of it, also where they were stored long ago', async (key) => {
  const { services, rows } = api.gateway;
  for (const given of ['https://a.example/', 'https://a.example///', ' https://a.example/ ']) {
    expect(await put(key, given, 100)).toBe('written');
    expect(services.options.text(key)).toBe('https://a.example');
  }
  await rows('UPDATE options SET value = ? WHERE key = ?', 'https://a.example//', key);
  await services.options.reload();
  expect(services.options.get(key)).toBe('https://a.example');
  for (const value of ['https://a.example/?x=', 'https://a.example/#x'])
    expect(await put(key, value, 100)).toBe('option_invalid');
});

test('in demo mode the super administrator still changes options, and nothing else; others nothing', async () => {
  const { gateway, send } = api;
  await gateway.services.options.setMeta('setup_at', '1');
  expect(await put('DemoSiteEnabled', 'true', 10)).toBe('option_root_only');
  expect(await put('DemoSiteEnabled', 'true', 100)).toBe('written');
  expect(await put('RetryTimes', '3', 10)).toBe('demo_readonly');
  expect(await put('RetryTimes', '3', 100)).toBe('written');
  const reset = (role: number) => send('POST', '/api/option/reset', { key: 'RetryTimes' }, callers[role]);
  expect((await reset(10)).body.code).toBe('demo_readonly');
  expect((await reset(100)).body.success).toBe(true);
  const made = await send('POST', '/api/token/', { name: 't', unlimited_quota: true }, callers[100]);
  expect(made.body.code).toBe('demo_readonly');
  expect(await put('DemoSiteEnabled', 'false', 10)).toBe('demo_readonly');
  expect(await put('DemoSiteEnabled', 'false', 100)).toBe('written');
  expect((await send('POST', '/api/token/', { name: 't', unlimited_quota: true }, callers[100])).body.success).toBe(
    true,
  );
});
