/** The views that are outlined and pressed: an address, who looks at it, and what the site answers. */
import type { Log, User } from '../../server/contract/entities.ts';
import { type Answers, empty, filled, logs, people, refusals } from '../support/answers.ts';
import type { VisitOptions } from './visit.tsx';

const { root, admin, user: mira } = people;
const phone = 390;

const view = (path: string, user: User | null, more: Partial<VisitOptions> = {}): VisitOptions => ({
  path,
  user,
  answers: filled,
  ...more,
});
const site = (status: object): Answers => ({
  ...filled,
  'status.get': { ...(filled['status.get'] as object), ...status },
});

/** Each is read; its name is that of its file in tests/web/outlines. */
export const views = {
  home: view('/', null),
  'home-inside': view('/', mira, { answers: empty }),
  about: view('/about', null),
  login: view('/login?expired=true', null),
  register: view('/register?aff=mIrA', null),
  reset: view('/reset', null),
  'new-password': view('/user/reset?email=a@b.example&token=t1', null),
  'oauth-callback': view('/oauth/github?code=c1&state=s1', null),
  device: view('/device?user_code=BCDF-GHJK', mira),
  key: view('/key#secret-1', null),
  'api-docs': view('/api-docs', null),
  chat: view('/chat/0', mira),
  setup: view('/setup', null, {
    answers: {
      ...site({ setup: false }),
      'setup.get': { status: false, root_init: false, database_type: 'sqlite', code_required: true },
    },
  }),
  first: view('/first', root),
  'first-empty': view('/first', root, { answers: empty }),
  playground: view('/playground', mira),
  pricing: view('/pricing', null),
  'pricing-ratios': view('/pricing?view=ratios', mira),
  'pricing-root': view('/pricing', root),
  'pricing-empty': view('/pricing', root, { answers: empty }),
  model: view('/pricing/gpt-4o', root),
  'model-reader': view('/pricing/claude-sonnet-4-5', mira),
  'model-unknown': view('/pricing/nothing', mira),
  dashboard: view('/detail', mira, { language: 'zh' }),
  'dashboard-root': view('/detail?compare=true', root),
  'dashboard-empty': view('/detail', root, { answers: empty }),
  tokens: view('/token', mira),
  'tokens-empty': view('/token', mira, { answers: empty }),
  'tokens-phone': view('/token', mira, { width: phone }),
  logs: view('/log', mira, { width: phone, language: 'zh' }),
  'logs-root': view('/log', root),
  'logs-conversation': view('/log?range=all&session=s-1', root),
  'logs-conversation-phone': view('/log?range=all&session=s-1', mira, { width: phone, language: 'zh' }),
  'logs-refused': view('/log', mira, {
    answers: { ...filled, 'log.self': { items: [...refusals], page: 1, page_size: 20, total: refusals.length } },
  }),
  'logs-refused-root': view('/log', root, {
    answers: { ...filled, 'log.list': { items: [...refusals], page: 1, page_size: 20, total: refusals.length } },
  }),
  'logs-empty': view('/log', mira, { answers: empty }),
  drawings: view('/midjourney', root),
  'drawings-own': view('/midjourney', mira, { answers: empty }),
  tasks: view('/task', root),
  channels: view('/channel', root),
  'channels-tags': view('/channel?mode=tag', root),
  'channels-phone': view('/channel', root, { width: phone }),
  'channels-empty': view('/channel', root, { answers: empty }),
  'virtual-models': view('/virtual-model', root),
  'virtual-models-phone': view('/virtual-model', root, { width: phone, language: 'zh' }),
  'virtual-models-empty': view('/virtual-model', root, { answers: empty }),
  redemption: view('/redemption', root),
  'redemption-empty': view('/redemption', root, { answers: empty }),
  orders: view('/orders', root),
  'orders-callbacks': view('/orders?view=callbacks', root),
  'orders-invoices': view('/orders?view=invoices', root),
  invoice: view('/invoice?number=INV-2026-000012', mira),
  document: view('/document#AAECAwQFBgcICQoLDA0ODw', null),
  'invoice-zh': view('/invoice?number=INV-2026-000012', mira, { language: 'zh' }),
  users: view('/user', root),
  'users-admin': view('/user?q=a', admin),
  user: view('/user/7', root),
  nodes: view('/nodes', root),
  'nodes-alone': view('/nodes', root, { answers: empty }),
  connect: view('/connect', mira),
  'connect-phone': view('/connect', mira, { width: phone, language: 'zh' }),
  'connect-empty': view('/connect', mira, { answers: empty }),
  budgets: view('/budget', root),
  'budgets-phone': view('/budget', root, { width: phone, language: 'zh' }),
  'budgets-empty': view('/budget', root, { answers: empty }),
  'alert-rules': view('/alert', root),
  'alert-rules-phone': view('/alert', admin, { width: phone, language: 'zh' }),
  'alert-rules-empty': view('/alert', root, { answers: empty }),
  audit: view('/audit', root),
  'audit-entry': view('/audit?open=3', root),
  'audit-empty': view('/audit', root, { answers: empty }),
  settings: view('/setting?tab=ratelimit', root),
  'settings-search': view('/setting?q=retry', root),
  'settings-models': view('/setting?tab=models', root),
  'settings-system': view('/setting?tab=system', root),
  'settings-other': view('/setting?tab=other', root),
  wallet: view('/topup', mira),
  'wallet-zh': view('/topup', mira, { language: 'zh' }),
  'wallet-invoices': view('/topup?view=invoices', mira),
  'wallet-empty': view('/topup', mira, { answers: { ...empty, ...site({ enable_online_topup: false }) } }),
  statement: view('/statement', mira),
  'statement-zh': view('/statement?month=2026-10&check=true', root, { language: 'zh' }),
  'statement-empty': view('/statement', mira, { answers: empty }),
  account: view('/personal', mira),
  'account-root': view('/personal', root, {
    answers: { ...empty, 'second_factor.get': { enabled: true, recovery_codes_left: 2 } },
  }),
  'not-found': view('/nowhere', mira),
} as const satisfies Record<string, VisitOptions>;

/** The log where one row is another: the first with what it says besides. */
const row = (other: object, more: Partial<Log> = {}): Answers => {
  const [first] = logs;
  const changed = {
    ...first,
    other: JSON.stringify({ ...JSON.parse(first?.other ?? '{}'), ...other }),
    ...more,
  } as Log;
  const page = { items: [changed], page: 1, page_size: 20, total: 1 };
  return { ...filled, 'log.get': changed, 'log.self_get': changed, 'log.list': page, 'log.self': page };
};
const everything = {
  ...{ compaction: 'native', dropped: ['top_k', 'seed'], unpriced: ['search'], unread: true },
  ...{ upstream_model_name: 'gpt-4o-2024', request_path: '/v1/messages', failure: 'timeout' },
  admin_info: { ip: '203.0.113.9', use_channel: ['21'] },
};

/** What opens over a page. */
export const sheets = {
  'log-everything': view('/log?open=31', root, { answers: row(everything) }),
  'log-own': view('/log?open=31', mira, {
    answers: row({ compaction: 'summary', unpriced: 'no list', admin_info: { ip: 5 } }, { token_id: 0, channel: 0 }),
  }),
  'log-of-one': view('/log?open=31', root, {
    answers: row({ per_call: true, model_price: 0.04 }, { user_id: 1, token_id: 1, prompt_tokens: 0, quota: 20_000 }),
  }),
  'log-event': view('/log?open=31', root, {
    answers: row({ quota_before: 500_000, quota_after: 1_000_000, reason: 'gift', flag: true }, { type: 3 }),
  }),
  'log-refund': view('/log?open=31', root, { answers: row({}, { type: 6, quota: -2500, completion_tokens: 0 }) }),
  'log-served': view('/log?open=31', root),
  'log-retried': view('/log?open=32', root),
  'log-failed': view('/log?open=33', root),
  'log-refused': view('/log?open=34', mira),
  'log-left': view('/log?open=35', mira),
  'log-topup': view('/log?open=36', root),
  'channel-add': view('/channel/add', root),
  'channel-edit': view('/channel/edit/24', root),
  'user-edit': view('/user/edit/7', root),
} as const satisfies Record<string, VisitOptions>;

/** What stands around every page. */
export const frames = {
  'frame-guest': view('/about', null, { answers: { ...filled, 'status.notice': 'Maintenance on **Sunday**' } }),
  'frame-user': view('/about', mira),
  'frame-root': view('/token', root, {
    answers: site({ storage: { ok: false, reason: 'disk_full', late: 4, refused: 1 }, footer_html: '<b>Acme</b>' }),
  }),
  'frame-phone': view('/token', root, { width: phone }),
  'frame-zh': view('/token', admin, { language: 'zh', answers: site({ default_collapse_sidebar: true }) }),
} as const satisfies Record<string, VisitOptions>;

const failing = { answers: filled, refusal: 'The database is busy' };
/** Where nothing can be read. */
export const failures = {
  tokens: view('/token', mira, failing),
  logs: view('/log', root, failing),
  channels: view('/channel', root, failing),
  users: view('/user', root, failing),
  user: view('/user/7', root, failing),
  dashboard: view('/detail', root, failing),
  wallet: view('/topup', mira, failing),
  statement: view('/statement', mira, failing),
  pricing: view('/pricing', root, failing),
  model: view('/pricing/gpt-4o', root, failing),
  settings: view('/setting', root, failing),
  account: view('/personal', mira, failing),
  nodes: view('/nodes', root, failing),
  audit: view('/audit', root, failing),
  'alert-rules': view('/alert', root, failing),
  budgets: view('/budget', root, failing),
  'virtual-models': view('/virtual-model', root, failing),
  redemption: view('/redemption', root, failing),
  orders: view('/orders', root, failing),
  tasks: view('/task', root, failing),
  playground: view('/playground', mira, failing),
  home: view('/', null, failing),
} as const satisfies Record<string, VisitOptions>;

const unknown = { answers: filled, refusal: 'The user does not exist', refusalCode: 'user_unknown' };
/** Where what the address names is not there. */
export const missing = {
  user: view('/user/999', root, unknown),
  'user-edit': view('/user/edit/999', root, unknown),
  'channel-edit': view('/channel/edit/999', root),
  model: view('/pricing/no-such-model', root),
  invoice: view('/invoice', mira),
  'invoice-unknown': view('/invoice?number=2026-99', root, {
    ...unknown,
    refusal: 'invoice 2026-99 does not exist',
    refusalCode: 'not_found',
  }),
} as const satisfies Record<string, VisitOptions>;
