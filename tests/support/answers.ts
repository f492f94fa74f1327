/** A site as it could be: what each endpoint answers about it, in the shape of the contract. Times, ids and names are fixed. */

import { channelFilter } from '../../server/contract/channel-filter.ts';
import type { InputOf, OutputOf } from '../../server/contract/endpoint.ts';
import { type EndpointId, type EndpointOf, endpointById } from '../../server/contract/endpoints/index.ts';
import type { DocumentLink } from '../../server/contract/endpoints/link.ts';
import type { Conversation } from '../../server/contract/endpoints/log.ts';
import type { Channel, Log, Redemption, Token, TopUpOrder, User } from '../../server/contract/entities.ts';
import type { InvoiceRow } from '../../server/contract/invoice.ts';
import { optionKeys, optionRow } from '../../server/contract/options.ts';
import type { Status } from '../../web/lib/status.ts';

/** Thursday, 2026-11-26 09:30 UTC, in epoch seconds. */
export const now = Date.UTC(2026, 10, 26, 9, 30) / 1000;
const minute = 60;
const hour = 3600;
const day = 86_400;
const unit = 500_000;

type Output<Id extends EndpointId> = OutputOf<EndpointOf<Id>>;
/** What each endpoint answers, or makes of its fields. */
export type Answers = {
  readonly [Id in EndpointId]?: Output<Id> | ((fields: InputOf<EndpointOf<Id>>) => Output<Id>);
};

const page = <Item>(items: readonly Item[]) => ({ items: [...items], page: 1, page_size: 20, total: items.length });

type AlertRule = Output<'alert.rules'>['rules'][number];
const alertRule = (
  kind: AlertRule['kind'],
  label: string,
  values: Readonly<Record<string, string>>,
  more: Partial<AlertRule> = {},
): AlertRule => ({
  ...{ kind, label, sentence: `${label}.`, muted: false, on: true, past: 'stored' },
  values: { ...values, repeat_hours: '24' },
  ...more,
});

const user = (id: number, username: string, more: Partial<User>): User => ({
  id,
  username,
  display_name: '',
  role: 1,
  status: 1,
  email: '',
  github_id: '',
  oidc_id: '',
  wechat_id: '',
  telegram_id: '',
  linux_do_id: '',
  quota: 0,
  used_quota: 0,
  request_count: 0,
  group: 'default',
  aff_code: '',
  aff_count: 0,
  aff_quota: 0,
  aff_history_quota: 0,
  inviter_id: 0,
  setting: '{"language":"en"}',
  DeletedAt: null,
  ...more,
});

export const people = {
  root: user(1, 'root', {
    display_name: 'Owner',
    role: 100,
    email: 'owner@site.example',
    quota: 250 * unit,
    used_quota: 12 * unit,
    request_count: 1204,
    aff_code: 'r00T',
    setting: '{"language":"en","notify_type":"email","quota_warning_threshold":5000000}',
  }),
  admin: user(2, 'ann', { role: 10, quota: 40 * unit, group: 'vip', github_id: 'ann-gh', email: 'ann@site.example' }),
  user: user(7, 'mira', {
    display_name: 'Mira',
    email: 'mira@site.example',
    quota: 7.5 * unit,
    used_quota: 2.25 * unit,
    request_count: 321,
    aff_code: 'mIrA',
    aff_count: 3,
    aff_quota: 3 * unit,
    aff_history_quota: 5 * unit,
    ...{ inviter_id: 1, inviter_name: 'root' },
  }),
} as const;
const banned = user(8, 'bob', { status: 2, quota: -1200, used_quota: 900, request_count: 4 });

const token = (id: number, name: string, more: Partial<Token>): Token => ({
  id,
  user_id: 7,
  key: `a${id}Bc**********wXyZ`,
  status: 1,
  name,
  created_time: now - 30 * day,
  accessed_time: now - 2 * hour,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: true,
  model_limits_enabled: false,
  model_limits: '',
  allow_ips: '',
  used_quota: 1.25 * unit,
  group: '',
  day_budget: 0,
  month_budget: 0,
  rpm_limit: 0,
  tpm_limit: 0,
  concurrency_limit: 0,
  day_used: 0,
  month_used: 0,
  old_key_hint: '',
  old_key_until: 0,
  link_until: 0,
  last_ip: '',
  DeletedAt: null,
  ...more,
});
const tokens: readonly Token[] = [
  token(11, 'laptop', {
    day_budget: 2 * unit,
    day_used: 1.5 * unit,
    month_budget: 20 * unit,
    month_used: 19 * unit,
    last_ip: '198.51.100.7',
  }),
  token(12, 'ci', {
    unlimited_quota: false,
    remain_quota: 3 * unit,
    used_quota: unit,
    expired_time: now + 5 * day,
    model_limits_enabled: true,
    model_limits: 'gpt-4o,claude-sonnet-4-5',
    allow_ips: '10.0.0.0/8',
    group: 'vip',
    rpm_limit: 60,
    tpm_limit: 90_000,
    concurrency_limit: 4,
    old_key_hint: 'k3yO…1dXx',
    old_key_until: now + 6 * hour,
    link_until: now + 3 * hour,
  }),
  token(13, 'off', { status: 2, accessed_time: 0, used_quota: 0 }),
  token(14, 'ended', { status: 3, expired_time: now - day }),
  token(15, 'spent', { status: 4, unlimited_quota: false, remain_quota: 0, used_quota: 4 * unit }),
];

const channel = (id: number, name: string, more: Partial<Channel>): Channel => ({
  id,
  type: 1,
  key: '',
  key_hint: 'sk-a…f00d',
  openai_organization: '',
  test_model: '',
  status: 1,
  name,
  weight: 0,
  created_time: now - 90 * day,
  test_time: now - 3 * hour,
  response_time: 840,
  base_url: '',
  other: '',
  balance: 0,
  balance_updated_time: 0,
  models: 'gpt-4o,gpt-4o-mini',
  group: 'default',
  used_quota: 4 * unit,
  model_mapping: '',
  status_code_mapping: '',
  priority: 0,
  auto_ban: 1,
  other_info: '',
  tag: '',
  setting: '',
  param_override: '',
  max_input_tokens: 0,
  ...more,
});
const channels: readonly Channel[] = [
  channel(21, 'east', { priority: 10, weight: 3, tag: 'main', balance: 12.5, balance_updated_time: now - hour }),
  channel(22, 'west', {
    type: 14,
    priority: 10,
    weight: 1,
    tag: 'main',
    models: 'claude-sonnet-4-5',
    group: 'default,vip',
    response_time: 6400,
    model_mapping: '{"claude-sonnet-4-5":"claude-sonnet-4-5-20250929"}',
    base_url: 'https://west.example',
  }),
  channel(23, 'spare', { status: 2, test_time: 0, response_time: 0, used_quota: 0, models: '' }),
  channel(24, 'tired', {
    status: 3,
    auto_ban: 0,
    other_info: JSON.stringify({ status_reason: '401 Incorrect API key', status_time: now - 2 * day }),
    setting: '{"pass_through":true}',
    param_override: '{"temperature":0}',
    status_code_mapping: '{"404":"500"}',
    test_model: 'gpt-4o',
    openai_organization: 'org-1',
    max_input_tokens: 100_000,
  }),
];

const unsupportedMembers: Output<'channel.unsupported'> = [
  {
    ...{ model: 'gpt-4o', member: 'openai-chat:seed', demand: 'absent', source: 'learnt', count: 3, users: 1 },
    ...{ for_all: false, expires_time: now + 7 * 86_400, first_time: now - hour, last_time: now - 60 },
  },
  {
    ...{ model: 'gpt-4o', member: 'openai-chat:top_p', demand: 'absent', source: 'hand', count: 0, users: 0 },
    ...{ for_all: true, expires_time: 0, first_time: now - hour, last_time: now - hour },
  },
];

const probePlan: Output<'channel.probe_plan'> = {
  ...{ model: 'gpt-4o', upstream_model: 'gpt-4o', dialect: 'openai-chat', calls: 21, dollars: 0.0184 },
};

const channelKeys: Output<'channel.keys'> = [
  {
    ...{ key_id: '3f2a9c01de', hint: 'sk-a…wxyz', status: 'in_use', wait_ms: 0, upstream_wait_ms: 0 },
    ...{ waiting_models: [{ model: 'gpt-4o', wait_ms: 41_000 }], error: 'HTTP 429 · slow down' },
    ...{ error_time: now - 19, used_time: now - 3 },
  },
  {
    ...{ key_id: '81b0d7e24c', hint: 'sk-b…3456', status: 'refused', wait_ms: 52_000, upstream_wait_ms: 0 },
    ...{ waiting_models: [], error: 'HTTP 401 · invalid_api_key · Incorrect API key provided: ***' },
    ...{ error_time: now - 8, used_time: now - 8 },
  },
  {
    ...{
      key_id: '9d44aa7710',
      hint: 'sk-c…7890',
      status: 'waiting',
      wait_ms: 3_600_000,
      upstream_wait_ms: 2 * day * 1000,
    },
    ...{ waiting_models: [], error: 'HTTP 429 · insufficient_quota', error_time: now - day, used_time: now - day },
  },
  {
    ...{ key_id: 'c5120be9f3', hint: 'sk-d…abcd', status: 'off', wait_ms: 0, upstream_wait_ms: 0 },
    ...{ waiting_models: [], error: '', error_time: 0, used_time: 0 },
  },
];

const log = (id: number, ago: number, more: Partial<Log>): Log => ({
  id,
  request_id: `20261126093000${id}abcd`,
  user_id: 7,
  created_at: now - ago,
  type: 2,
  content: '',
  username: 'mira',
  token_name: 'laptop',
  model_name: 'gpt-4o',
  quota: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  use_time: 0,
  is_stream: false,
  channel: 21,
  channel_name: 'east',
  token_id: 11,
  group: 'default',
  usage_source: 'reported',
  end_reason: 'completed',
  other: '',
  ...more,
});
const prices = { model_ratio: 1.25, model_price: -1, completion_ratio: 4, group_ratio: 1, cache_ratio: 0.5 };
export const logs: readonly Log[] = [
  log(31, 40, {
    is_stream: true,
    use_time: 3,
    prompt_tokens: 12_000,
    completion_tokens: 300,
    quota: 14_625,
    other: JSON.stringify({
      ...prices,
      ...{ input: 9000, output: 300, cache_tokens: 3000, frt: 500, ms: 2500 },
      admin_info: { use_channel: ['21'] },
    }),
  }),
  log(32, 5 * minute, {
    model_name: 'claude-sonnet-4-5',
    channel: 22,
    channel_name: 'west',
    use_time: 65,
    prompt_tokens: 900,
    completion_tokens: 10,
    quota: 1175,
    other: JSON.stringify({
      ...prices,
      ...{ input: 900, output: 10, frt: -1000, ms: 65_000 },
      admin_info: {
        use_channel: ['21', '22'],
        attempts: [
          { channel: 21, name: 'east', reason: 'timeout', ms: 400 },
          { channel: 22, name: 'west' },
        ],
      },
    }),
  }),
  log(33, 2 * hour, {
    type: 5,
    content: 'Rate limit reached',
    end_reason: 'upstream_failed',
    usage_source: 'none',
    other: JSON.stringify({ failure: 'status 429', status: 429, frt: -1000, ms: 310 }),
  }),
  log(34, 3 * hour, {
    type: 5,
    channel: 0,
    channel_name: '',
    content: 'The key may not use gpt-5.1',
    model_name: 'gpt-5.1',
    end_reason: 'refused',
    usage_source: 'none',
    other: JSON.stringify({ refused: 'model_not_allowed', status: 403 }),
  }),
  log(35, day, {
    is_stream: true,
    end_reason: 'client_gone',
    usage_source: 'estimated',
    prompt_tokens: 20,
    completion_tokens: 5,
    quota: 50,
    other: JSON.stringify({ ...prices, group_ratio: 0.5, input: 20, output: 5, ms: 900, frt: 300 }),
  }),
  log(36, 2 * day, {
    type: 1,
    content: 'Topped up $10.00 by code gift',
    quota: 10 * unit,
    model_name: '',
    token_name: '',
    token_id: 0,
    channel: 0,
    channel_name: '',
    usage_source: 'none',
  }),
  log(37, 3 * day, {
    type: 3,
    content: 'root changed the quota from $1.00 to $2.00',
    username: 'root',
    user_id: 1,
    model_name: '',
    token_name: '',
    token_id: 0,
    channel: 0,
    channel_name: '',
    usage_source: 'none',
  }),
];
const failed = { type: 5, usage_source: 'none', end_reason: 'refused', channel: 0, channel_name: '' };
/** Further refusals, for each the place where its rule is changed. */
export const refusals: readonly Log[] = (
  [
    ['user_exhausted', 402],
    ['token_exhausted', 403],
    ['model_not_found', 404],
    ['model_price_unset', 503],
    ['limit_requests', 429],
  ] as const
).map(([refused, status], at) =>
  log(300 + at, hour + at, { ...failed, content: refused, other: JSON.stringify({ refused, status }) }),
);
const counts: Output<'log.facets'> = {
  from: now - day,
  to: now,
  step: hour,
  total: 7,
  errors: 2,
  sampled: false,
  buckets: Array.from({ length: 25 }, (_, at) => ({
    at: now - day + at * hour,
    ok: at % 5,
    errors: at === 7 ? 2 : 0,
  })),
  facets: [
    {
      by: 'status',
      values: [
        { value: 'succeeded', name: '', count: 3 },
        { value: 'failed', name: '', count: 1 },
        { value: 'refused', name: '', count: 1 },
      ],
      more: { values: 0, count: 0 },
    },
    {
      by: 'error',
      values: [
        { value: 'status 429', name: '', count: 1 },
        { value: 'model_not_allowed', name: '', count: 1 },
      ],
      more: { values: 0, count: 0 },
    },
    {
      by: 'model',
      values: Array.from({ length: 8 }, (_, at) => ({ value: `model-${at}`, name: '', count: 20 - at })),
      more: { values: 3, count: 4 },
    },
    { by: 'token', values: [{ value: '11', name: 'laptop', count: 5 }], more: { values: 0, count: 0 } },
    { by: 'user', values: [{ value: 'mira', name: '', count: 6 }], more: { values: 0, count: 0 } },
    { by: 'channel', values: [{ value: '21', name: 'east', count: 4 }], more: { values: 0, count: 0 } },
    { by: 'group', values: [{ value: 'default', name: '', count: 7 }], more: { values: 0, count: 0 } },
  ],
};

const code = (id: number, more: Partial<Redemption>): Redemption => ({
  id,
  user_id: 1,
  key: `c0de000000000000000000000000000${id}`,
  status: 1,
  name: 'gift',
  quota: 10 * unit,
  created_time: now - 9 * day,
  redeemed_time: 0,
  used_user_id: 0,
  used_username: '',
  expired_time: 0,
  count: 0,
  DeletedAt: null,
  ...more,
});
const codes: readonly Redemption[] = [
  code(41, { expired_time: now + 20 * day }),
  code(42, { status: 3, redeemed_time: now - 2 * day, used_user_id: 7, used_username: 'mira' }),
  code(43, { status: 2, name: 'held' }),
  code(44, { expired_time: now - day, name: 'late' }),
];

const order = (id: number, more: Partial<TopUpOrder>): TopUpOrder => ({
  id,
  user_id: 7,
  username: 'mira',
  trade_no: `T2026112600${id}`,
  payment_method: 'epay:alipay',
  amount: 10,
  quota: 10 * unit,
  money: '73.00',
  currency: 'CNY',
  status: 'success',
  create_time: now - 2 * day,
  complete_time: now - 2 * day + 50,
  refunded: '0.00',
  invoice: '',
  ...more,
});
const orders: readonly TopUpOrder[] = [
  order(51, { invoice: 'INV-2026-000012' }),
  order(52, { status: 'pending', complete_time: 0, create_time: now - 3 * minute }),
  order(53, { status: 'expired', complete_time: 0, payment_method: 'stripe', money: '10.00', currency: 'USD' }),
];

const invoice: Output<'invoice.get'> = {
  ...{ kind: 'invoice', number: 'INV-2026-000012', issued_at: now - 2 * day + 50, date: '2026-11-24', corrects: '' },
  ...{ trade_no: 'T202611260051', method: 'epay:alipay' },
  seller: { name: 'Acme Ltd.', address: '1 High Street\nLondon', tax_id: 'GB123456789' },
  buyer: { name: 'Mira GmbH', address: 'Weg 1\n10115 Berlin', tax_id: 'DE123456789', user_id: 7, username: 'mira' },
  ...{ currency: 'cny', minor: 100, gross: 7300, net: 6134, tax: 1166, tax_name: 'VAT', tax_rate: '19' },
  ...{ quota: 10 * unit, quota_per_unit: unit, in_currency: true, note: 'Thank you.' },
};
const invoiceRow = (id: number, more: Partial<InvoiceRow>): InvoiceRow => ({
  ...{ id, number: invoice.number, kind: 'invoice', user_id: 7, username: 'mira', trade_no: invoice.trade_no },
  ...{ corrects: '', date: invoice.date, money: '73.00', currency: 'cny', issued_time: invoice.issued_at },
  ...more,
});
const link = (id: number, more: Partial<DocumentLink>): DocumentLink => ({
  ...{ id, kind: 'invoice', title: invoice.number, user_id: 7, created_by: 'mira', created_time: now - day },
  ...{ expires_time: now + 29 * day, state: '', opened: 0, opened_time: 0, ...more },
});
const links: readonly DocumentLink[] = [
  link(2, { opened: 3, opened_time: now - hour }),
  link(1, { state: 'revoked', created_by: 'ann' }),
];
const invoices: readonly InvoiceRow[] = [
  invoiceRow(2, { number: 'CN-2026-000001', kind: 'credit_note', corrects: invoice.number, money: '-23.00' }),
  invoiceRow(1, {}),
];

const spread = { mean: 500, p50: 520, p95: 1870 };
const figures = (requests: number) => ({
  requests,
  errors: Math.floor(requests / 20),
  error_by: requests < 20 ? {} : { upstream: 1, client_left: Math.floor(requests / 20) - 1 },
  refused: Math.floor(requests / 50),
  retried: Math.floor(requests / 10),
  saved: Math.floor(requests / 15),
  attempts: requests + 3,
  failed: Math.floor(requests / 12),
  failed_by: requests < 12 ? {} : { timeout: Math.floor(requests / 12) },
  tokens_in: requests * 1000,
  tokens_out: requests * 120,
  tokens_cached: requests * 250,
  charge: requests * 2500,
  latency: requests === 0 ? { mean: null, p50: null, p95: null } : spread,
  first_token: requests === 0 ? { mean: null, p50: null, p95: null } : { mean: 300, p50: 310, p95: 900 },
  tokens_per_second: requests === 0 ? null : 41.5,
});
type Traffic = Output<'traffic.all'>;
const stats = (requests: number) => figures(requests) as Traffic['total'];
const steps = { '5m': 300, '1h': hour, '1d': day } as const;

interface TrafficFields {
  readonly start_timestamp?: number | undefined;
  readonly end_timestamp?: number | undefined;
  readonly step?: keyof typeof steps | undefined;
  readonly by?: string | undefined;
  readonly points?: boolean | undefined;
  readonly limit?: number | undefined;
}
const seriesOf: Readonly<Record<string, readonly (readonly [id: number, name: string, username: string])[]>> = {
  model: [
    [0, 'gpt-4o', ''],
    [0, 'claude-sonnet-4-5', ''],
    [0, 'gpt-4o-mini', ''],
  ],
  channel: [
    [21, 'east', ''],
    [22, 'west', ''],
  ],
  token: [
    [11, 'laptop', 'mira'],
    [12, 'ci', 'mira'],
  ],
  user: [
    [7, 'mira', 'mira'],
    [1, 'root', 'root'],
  ],
};

/** As much traffic in each period as it is long, a third less in the one before. */
function traffic(given: TrafficFields): Traffic {
  const step = steps[given.step ?? '1h'];
  const from = Number(given.start_timestamp ?? now - day);
  const to = Number(given.end_timestamp ?? now);
  const isNow = to > now - 2 * step;
  const names = seriesOf[given.by ?? 'none'] ?? [[0, '', '']];
  const starts = Array.from({ length: Math.max(1, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);
  const series = names.map(([id, name, username], place) => {
    const counts = starts.map((_, at) => ((at * 7 + place * 3) % 11) * (isNow ? 3 : 2));
    return {
      id,
      name,
      username,
      total: stats(counts.reduce((sum, count) => sum + count, 0)),
      points: String(given.points) === 'false' ? [] : starts.map((at, index) => ({ at, ...stats(counts[index] ?? 0) })),
    };
  });
  return {
    from,
    to,
    step,
    total: stats(series.reduce((sum, { total }) => sum + total.requests, 0)),
    series: series.slice(0, Number(given.limit ?? 100)),
  };
}

const bars = (bad: number): Output<'ratio.models'>[number]['bars'] =>
  Array.from({ length: 24 }, (_, at) => ({
    at: now - day + at * hour,
    attempts: at % 6 === 5 ? 0 : 10 + at,
    failed: at === bad ? 8 : 0,
    latency: at % 6 === 5 ? null : 600 + at,
    level: at % 6 === 5 ? 'none' : at === bad ? 'bad' : at === bad + 1 ? 'slow' : 'good',
  }));

const statusOf = (more: Partial<Status>): Output<'status.get'> => ({
  system_name: 'Acme Relay',
  version: '0.2.0',
  setup: true,
  quota_per_unit: unit,
  display_in_currency: true,
  server_address: 'https://site.example',
  docs_link: 'https://docs.example',
  footer_html: '',
  enable_data_export: true,
  enable_drawing: true,
  enable_task: true,
  mj_notify_enabled: true,
  data_export_default_time: 'hour',
  register_enabled: true,
  password_register_enabled: true,
  password_login_enabled: true,
  email_verification: true,
  github_oauth: true,
  github_client_id: 'gh-1',
  oidc_enabled: true,
  oidc_client_id: 'oidc-1',
  oidc_authorization_endpoint: 'https://id.example/authorize',
  linuxdo_oauth: true,
  linuxdo_client_id: 'ld-1',
  wechat_login: true,
  wechat_qrcode: 'https://site.example/qr.png',
  telegram_oauth: true,
  telegram_bot_name: 'acme_bot',
  telegram_bot_id: '77',
  checklist_enabled: true,
  min_topup: 5,
  enable_online_topup: true,
  enable_stripe_topup: true,
  top_up_link: 'https://shop.example',
  chats: [{ Talk: 'https://talk.example/?key={key}&address={address}' }, { Write: 'https://write.example' }],
  several_nodes: true,
  storage: { ok: true, reason: '', late: 0, refused: 0 },
  ...more,
});

const makers = { openai: { zh: 'OpenAI', en: 'OpenAI' }, anthropic: { zh: 'Anthropic', en: 'Anthropic' } };
const models = [
  { name: 'gpt-4o', maker: makers.openai, ratio: 1.25, completion: 4, cache: 0.5, context: 128_000, longest: 16_384 },
  {
    name: 'claude-sonnet-4-5',
    ...{ maker: makers.anthropic, ratio: 1.5, completion: 5, cache: 0.1, context: 200_000, longest: 64_000 },
  },
  { name: 'own-model', maker: null, ratio: 0.5, completion: 1, cache: 1, context: null, longest: null },
] as const;
const takes: Record<string, string[]> = { 'gpt-4o': ['text', 'image'], 'claude-sonnet-4-5': ['text', 'image', 'file'] };
const facts = (name: string): Output<'ratio.facts'>[number] => {
  const known = models.find((one) => one.name === name);
  return {
    model: name,
    maker: known?.maker ?? null,
    context: known?.context ?? null,
    longest: known?.longest ?? null,
    takes: takes[name] ?? [],
    input: known === undefined ? null : known.ratio * 2,
    output: known === undefined ? null : known.ratio * known.completion * 2,
    cached: known === undefined ? null : known.ratio * known.cache * 2,
    per_call: null,
  };
};

const provider = (type: number, slug: string, name: string, more: Partial<Output<'channel.types'>[number]>) => ({
  type,
  slug,
  zh: name,
  en: name,
  base_url: `https://api.${slug}.example`,
  key_hint: 'sk-…',
  key_starts: [],
  models: ['gpt-4o'],
  other: null,
  organization: false,
  dialects: ['openai-chat'],
  dialect_labels: { 'openai-chat': 'OpenAI Chat' },
  ...more,
});

const session = (id: string, more: object) => ({
  id,
  browser: 'Firefox · Linux',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
  ip: '198.51.100.7',
  created_time: now - 8 * day,
  last_seen_time: now - 4 * minute,
  expired_time: now + 22 * day,
  current: false,
  ...more,
});
const sessions = [session('here', { current: true }), session('away', { browser: '', last_seen_time: now - 3 * day })];

const drawing = (id: number, more: object): Output<'drawing.list'>[number] => ({
  id,
  created_at: now - 2 * hour,
  submit_time: (now - 2 * hour) * 1000,
  start_time: (now - 2 * hour + 5) * 1000,
  finish_time: (now - 2 * hour + 50) * 1000,
  user_id: 7,
  channel_id: 21,
  mj_id: `mj-${id}`,
  action: 'IMAGINE',
  code: 1,
  status: 'SUCCESS',
  progress: '100%',
  image_url: `https://site.example/mj/image/mj-${id}`,
  prompt: 'a red bridge',
  prompt_en: 'a red bridge --v 6',
  fail_reason: '',
  quota: 0.1 * unit,
  description: '',
  state: '',
  buttons: '[]',
  properties: '{}',
  ...more,
});
const drawings = [
  drawing(61, {}),
  drawing(62, { status: 'IN_PROGRESS', progress: '40%', finish_time: 0, action: 'UPSCALE', image_url: '' }),
  drawing(63, { status: 'FAILURE', progress: '', fail_reason: 'banned prompt', code: 24, action: 'DESCRIBE' }),
];
const task = (id: number, more: object): Output<'task.list'>[number] => ({
  id,
  created_at: now - hour,
  updated_at: now - hour + 90,
  submit_time: now - hour,
  start_time: now - hour + 3,
  finish_time: now - hour + 90,
  user_id: 7,
  channel_id: 22,
  platform: 'suno',
  action: 'MUSIC',
  task_id: `task-${id}`,
  status: 'SUCCESS',
  progress: '100%',
  fail_reason: '',
  quota: 0.2 * unit,
  data: [{ id: 's1', title: 'Song', audio_url: 'https://site.example/s1.mp3' }],
  properties: {},
  ...more,
});
const tasks = [
  task(71, {}),
  task(72, { status: 'QUEUED', progress: '0%', start_time: 0, finish_time: 0, action: 'LYRICS', data: null }),
  task(73, { status: 'FAILURE', fail_reason: 'no credit', progress: '10%', data: null }),
];

const node = (name: string, more: object): Output<'node.list'>['nodes'][number] => ({
  name,
  state: 'live',
  version: '0.2.0',
  schema: '31',
  started_at: now - 3 * day,
  silent_seconds: 1,
  cpu_percent: 135,
  memory_bytes: 412_000_000,
  relays: 2,
  leases: 3,
  leased_quota: 4 * unit,
  open: 5,
  settles_seconds: null,
  gone_seconds: null,
  owes: false,
  forgotten: false,
  waiting: 0,
  news_ms: 20,
  lease_seconds: 30,
  hears: true,
  trouble: null,
  ...more,
});
const nodes = [
  node('one', {}),
  node('two', { state: 'draining', hears: false, news_ms: 250, waiting: 3, cpu_percent: null, memory_bytes: null }),
  node('three', {
    state: 'gone',
    silent_seconds: 400,
    settles_seconds: 90,
    owes: true,
    version: '0.1.9',
    relays: null,
  }),
];

const audit = (id: number, action: string): Output<'audit.list'>['items'][number] => ({
  id,
  created_at: now - id * hour,
  actor_id: 1,
  actor: 'root',
  ip: '198.51.100.7',
  action,
  action_label: endpointById(action)?.summary.en ?? action,
  target: '7',
  detail: '{"quota":5000000}',
  hash: 'ab'.repeat(32),
  changes:
    action === 'option.set'
      ? [
          {
            ...{ kind: 'option', id: 'RetryTimes', field: 'value', member: null, before: null, after: '3' },
            hidden: false,
          },
        ]
      : [],
  changes_left: 0,
  undoable: action === 'option.set',
});

const changes: Output<'ratio.changes'> = [
  { key: 'ModelRatio', name: 'gpt-4o', before: '2.5', after: '1.25' },
  { key: 'CompletionRatio', name: 'own-model', before: null, after: '1' },
];

/** The defaults of these have a thousand models. */
const optionValues: Readonly<Record<string, string>> = {
  ModelRatio: '{"gpt-4o":1.25,"claude-sonnet-4-5":1.5,"own-model":0.5}',
  CompletionRatio: '{"gpt-4o":4,"claude-sonnet-4-5":5}',
  CacheRatio: '{"gpt-4o":0.5,"claude-sonnet-4-5":0.1}',
  ModelPrice: '{"mj_imagine":0.1}',
  GroupRatio: '{"default":1,"vip":0.8}',
  RetryTimes: '2',
  SystemName: 'Acme Relay',
  ServerAddress: 'https://site.example',
};
const textOf = (key: (typeof optionKeys)[number]): string => {
  const text = optionValues[key] ?? optionRow(key).fallback;
  return text.length > 2000 ? '{}' : text;
};

const differences: Output<'provision.diff'> = [
  { action: 'update', kind: 'option', name: 'SystemName', fields: ['value: Acme Relay -> Ours'] },
  { action: 'create', kind: 'channel', name: 'north', fields: [], notes: [{ zh: '没有密钥', en: 'it has no key' }] },
  { action: 'delete', kind: 'token', name: 'old', fields: [] },
  { action: 'unchanged', kind: 'user', name: 'mira', fields: [] },
];

const coder: Output<'virtual_model.get'> = {
  ...{ id: 1, name: 'coder', enabled: true, boundary: '', description: 'For agents' },
  targets: [
    { model: 'own-model', classes: ['subagent', 'auxiliary'] },
    { model: 'gpt-4o' },
    { model: 'claude-sonnet-4-5', group: 'vip', after: ['rate_limited', 'context_too_long'], prompt_over: 100_000 },
  ],
  ...{ created_time: now - 86_400, updated_time: now - 60 },
};
const virtualModels: Output<'virtual_model.list'> = [
  coder,
  {
    ...{ id: 2, name: 'fast', enabled: false, boundary: 'default', description: '' },
    ...{ targets: [{ model: 'gpt-4o', channel: 21 }], created_time: now - 90, updated_time: now - 90 },
  },
];

/** What is set of it. */
const chainWith = (
  before: Output<'virtual_model.get'>,
  {
    name = before.name,
    enabled = before.enabled,
    ...rest
  }: Omit<InputOf<EndpointOf<'virtual_model.create'>>, 'targets'>,
  targets: readonly unknown[] = before.targets,
): Output<'virtual_model.get'> => ({
  ...before,
  ...{ name, enabled, boundary: rest.boundary ?? before.boundary, description: rest.description ?? before.description },
  targets: targets as typeof before.targets,
});

const dayOfMira: Output<'budget.get'> = {
  ...{ id: 1, holder: 'user', subject: '2', name: 'mira', window: 'day', unit: 'money', amount: 5 * unit, zone: '' },
  ...{ raise: 0, raise_until: 0, bound: 5 * unit, used: 4 * unit, window_at: now - 3600, resets: now + 82_800 },
  ...{ created_time: now - 86_400, updated_time: now - 60 },
};
const budgets: Output<'budget.list'> = [
  dayOfMira,
  {
    ...dayOfMira,
    ...{ id: 2, holder: 'group', subject: 'vip', name: 'vip', window: '5h', unit: 'requests', amount: 200 },
    ...{ raise: 50, raise_until: now + 3600, bound: 250, used: 0, window_at: null, resets: null },
  },
  {
    ...dayOfMira,
    ...{ id: 3, holder: 'site', subject: '', name: '', window: 'total', unit: 'tokens', amount: 1_000_000 },
    ...{ bound: 1_000_000, used: 1_000_000, window_at: 0, resets: null, zone: 'Asia/Shanghai' },
  },
];

const explainedChain: Output<'virtual_model.try'> = {
  ...{ name: 'coder', group: 'default', boundary: '', not_allowed: ['claude-sonnet-4-5'] },
  targets: [
    {
      ...{ model: 'own-model', group: 'default', channel: null, path: ['own-model'], order: 0, outcome: 'conditions' },
      ...{ price: { input: 1, output: 1, call: null }, channels: [{ channel_id: 21, name: 'east' }] },
    },
    {
      ...{ model: 'gpt-4o', group: 'default', channel: null, path: ['gpt-4o'], order: 1, outcome: 'tried' },
      ...{ price: { input: 2.5, output: 10, call: null }, channels: [{ channel_id: 21, name: 'east' }] },
    },
    {
      ...{ model: 'claude-sonnet-4-5', group: 'vip', channel: 22, path: ['claude-sonnet-4-5'], order: 2 },
      ...{
        outcome: 'tried',
        price: { input: 3, output: 15, call: null },
        channels: [{ channel_id: 22, name: 'west' }],
      },
    },
  ],
};

/** Of reading alone; what changes something is answered by `done`. */
const cost = { requests: 40, quota: 920_000, input_tokens: 400_000, cached_tokens: 320_000, output_tokens: 9000 };
const conversation: Conversation = {
  ...{ session: 's-1', username: 'mira', agent: 'claude-code', project: 'gateway', from: now - 5000, to: now - 60 },
  models: ['claude-sonnet-5'],
  ...cost,
  ...{ subagents: 2, subagent_quota: 570_400, prompt_count: 2 },
  prompts: [
    {
      name: '',
      at: now - 5000,
      ...cost,
      ...{ requests: 10, quota: 0, cached_tokens: 0 },
      subagents: 0,
      subagent_quota: 0,
    },
    { name: 'p-2', at: now - 4000, ...cost, requests: 30, subagents: 2, subagent_quota: 570_400 },
  ],
  helpers: [
    { name: 'Explore a1', ...cost, requests: 12, quota: 500_000 },
    { name: 'Plan b2', ...cost, requests: 1, quota: 70_400 },
  ],
};

export const filled: Answers = {
  'setup.get': { status: true, root_init: true, database_type: 'sqlite', code_required: false },
  'status.get': statusOf({}),
  'status.notice': '',
  'status.about': '# About us\n\nWe relay.',
  'status.home': '',
  'status.models': { 'gpt-4o': 'good', 'claude-sonnet-4-5': 'poor', 'own-model': 'none' },
  'status.overview': { users: 4, tokens: 5, channels: 4, channels_disabled: 2, rpm: 12, tpm: 34_000, setup: true },
  'status.openapi': {
    openapi: '3.1.0',
    paths: {
      '/api/status': {
        get: {
          operationId: 'status.get',
          tags: ['status'],
          summary: 'Site status',
          'x-access': 'public',
          parameters: [{ name: 'lang', in: 'query', required: false }],
          responses: { 200: { content: { 'application/json': { schema: { type: 'object' } } } } },
        },
      },
      '/v1/chat/completions': {
        post: {
          operationId: 'chat',
          tags: ['relay'],
          summary: 'Chat',
          'x-access': 'key',
          parameters: [],
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
          responses: { 200: { content: { 'application/json': { schema: {} } } } },
        },
      },
    },
  },
  'update.check': { current: '0.2.0', latest: '0.3.0', newer: true, notes: 'https://site.example/releases/0.3.0' },
  'user.self': people.root,
  'user.models': ['gpt-4o', 'claude-sonnet-4-5', 'own-model'],
  'user.groups': { default: { desc: 'Everybody', ratio: 1 }, vip: { desc: 'Friends', ratio: 0.8 } },
  'group.usable': { default: { desc: 'Everybody', ratio: 1 }, vip: { desc: 'Friends', ratio: 0.8 } },
  'group.list': ['default', 'vip', 'svip'],
  'user.access_token': 'full-access-token',
  'user.list': page([people.root, people.admin, people.user, banned]),
  'user.search': ({ keyword }) =>
    page([people.root, people.admin, people.user, banned].filter(({ username }) => username.includes(keyword ?? ''))),
  'user.get': people.user,
  'user.overview': {
    user: people.user,
    keys: [...tokens],
    last_seen_time: now - 4 * minute,
    last_ip: '198.51.100.7',
    last_login_time: now - 2 * day,
    low_balance_below: 100_000,
    audit: [audit(1, 'user.update'), audit(2, 'user.manage')],
  },
  'user.sessions': sessions,
  'session.list': sessions,
  'passkey.list': [{ id: 81, name: 'phone', created_time: now - 40 * day, last_used_time: now - day }],
  'second_factor.get': { enabled: false, recovery_codes_left: 0 },
  'oauth.state': 'state-1',
  'access_token.list': [
    {
      id: 91,
      name: 'backup',
      hint: 'gat-ab…yz',
      scopes: ['read', 'logs'],
      created_time: now - 5 * day,
      last_used_time: 0,
      expired_time: now + 25 * day,
    },
    {
      id: 92,
      name: 'all',
      hint: 'gat-cd…wx',
      scopes: ['write'],
      created_time: now - 50 * day,
      last_used_time: now - hour,
      expired_time: -1,
    },
  ],
  'filter.list': [{ id: 95, place: 'logs', name: 'errors', query: 'type=5&range=24h' }],
  'token.list': ({ status }) => tokens.filter((one) => one.status === Number(status || one.status)),
  'token.search': ({ keyword, status }) =>
    tokens.filter(({ name, status: own }) => name.includes(keyword ?? '') && own === Number(status || own)),
  'token.get': ({ id }) => tokens.find((one) => one.id === Number(id)) ?? (tokens[0] as Token),
  'token.key': { key: 'fullKey0123456789' },
  'token.bound': [
    { id: 11, name: 'laptop', user_id: 1, others: [], enabled: [] },
    { id: 12, name: 'ci', user_id: 1, others: [22], enabled: [22] },
  ],
  'sign_in.look': {
    client: 'gateway',
    name: 'gateway',
    host: 'laptop',
    address: '192.0.2.7',
    until: now + 10 * minute,
  },
  'sign_in.decide': null,
  'sign_in.authorize': { name: 'Codex', address: '192.0.2.7', redirect: '' },
  'sign_in.list': {
    open: true,
    items: [
      {
        id: 61,
        name: 'gateway on laptop',
        client: 'gateway',
        host: 'laptop',
        address: '192.0.2.7',
        created_time: now - 3 * day,
        last_used_time: now - hour,
        spent_today: unit,
      },
      {
        id: 62,
        name: 'Claude Code on 192.0.2.8',
        client: 'Claude Code',
        host: '',
        address: '192.0.2.8',
        created_time: now - day,
        last_used_time: now - day,
        spent_today: 0,
      },
    ],
  },
  'sign_in.end': null,
  'token.open_shared': {
    name: 'ci',
    key: 'sk-fullKey0123456789',
    expired_time: now + 5 * day,
    remain_quota: 3 * unit,
    unlimited_quota: false,
    day_budget: unit,
    month_budget: 0,
    model_limits_enabled: true,
    model_limits: 'gpt-4o',
    allow_ips: '10.0.0.0/8',
  },
  'channel.list': [...channels],
  'channel.selection': ({ tag = '', filter = '' }) =>
    channels
      .filter((channel) => tag === '' || channel.tag === tag)
      .filter(filter === '' ? () => true : channelFilter(filter)),
  'channel.search': [...channels],
  'channel.get': ({ id }) => channels.find((one) => one.id === Number(id)) ?? (channels[0] as Channel),
  'channel.models': ['gpt-4o', 'gpt-4o-mini', 'claude-sonnet-4-5'].map((id) => ({
    id,
    object: 'model',
    created: 1_700_000_000,
    owned_by: 'gateway',
  })),
  'channel.models_enabled': ['gpt-4o', 'claude-sonnet-4-5'],
  'channel.types': [
    provider(1, 'openai', 'OpenAI', {
      key_starts: ['sk-proj-'],
      models: ['gpt-4o', 'gpt-4o-mini'],
      organization: true,
      dialects: ['openai-chat', 'openai-responses'],
      dialect_labels: { 'openai-chat': 'OpenAI Chat', 'openai-responses': 'OpenAI Responses' },
    }),
    provider(14, 'anthropic', 'Anthropic', {
      key_starts: ['sk-ant-'],
      models: ['claude-sonnet-4-5'],
      dialects: ['anthropic-messages'],
      dialect_labels: { 'anthropic-messages': 'Anthropic Messages' },
    }),
    provider(3, 'azure', 'Azure', {
      base_url: '',
      other: { zh: 'API 版本', en: 'API version', fallback: '2025-04-01-preview' },
    }),
    provider(100, 'practice', 'Practice', { base_url: '', models: ['practice-small'], key_hint: '' }),
  ],
  'channel.keys': channelKeys,
  'channel.unsupported': unsupportedMembers,
  'channel.probe_plan': probePlan,
  'channel.fetch_models': ['gpt-4o', 'gpt-5.1'],
  'channel.fetch_models_for': ['gpt-4o', 'gpt-5.1'],
  'route.explain': {
    model: 'gpt-4o',
    group: 'default',
    channels: [
      {
        ...{ channel_id: 21, name: 'east', priority: 10, weight: 3, share: 0.75, condition: 'serving', wait_ms: 0 },
        upstream_model: 'gpt-4o',
        not_sent: ['openai-chat:seed'],
      },
      {
        ...{ channel_id: 22, name: 'west', priority: 0, weight: 1, share: 0, condition: 'failing', wait_ms: 4000 },
        upstream_model: 'gpt-4o-2024-11-20',
        not_sent: [],
      },
    ],
    left_out: [{ channel_id: 23, name: 'spare', reason: 'disabled' }],
  },
  'budget.list': budgets,
  'budget.get': ({ id }) => budgets.find((one) => one.id === Number(id)) ?? dayOfMira,
  'virtual_model.list': virtualModels,
  'virtual_model.get': ({ id }) => virtualModels.find((one) => one.id === id) ?? coder,
  'route.preview': {
    ...{ channel_id: 1, channel_name: 'openai', model: 'gpt-4o', upstream_model: 'gpt-4o' },
    ...{ dialect: 'openai-chat', translated: false, signed: false, dropped: [] },
    url: 'https://api.openai.com/v1/chat/completions',
    headers: { authorization: 'Bearer {api_key}', 'content-type': 'application/json' },
    body: '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}',
  },
  'virtual_model.try': explainedChain,
  'model.by_type': { '1': ['gpt-4o'], '14': ['claude-sonnet-4-5'] },
  'model.explain': {
    model: 'gpt-4o',
    upstream_model: 'gpt-4o',
    provider: 'openai',
    facts: [{ member: 'max_tokens', value: 16_384, source: 'https://docs.example/models', assumed: false }],
    rules: [
      {
        ...{ dialect: 'openai-chat', member: 'temperature', kind: 'refuses', value: true },
        ...{ source: 'option model_rules', assumed: true },
      },
    ],
  },
  'model.takes': {
    output_cap: 16_384,
    input_limit: 128_000,
    efforts: ['low', 'medium', 'high'],
    refuses: ['top_p'],
    inputs: ['text', 'image'],
  },
  'log.list': page(logs),
  'log.self': page(logs.filter(({ user_id: id }) => id === 7)),
  'log.get': ({ ref }) => logs.find((one) => [String(one.id), one.request_id].includes(ref)) ?? (logs[0] as Log),
  'log.self_get': ({ ref }) => logs.find((one) => [String(one.id), one.request_id].includes(ref)) ?? (logs[0] as Log),
  'log.conversation': conversation,
  'log.self_conversation': conversation,
  'log.search': [...logs],
  'log.self_search': [...logs],
  'log.stat': { quota: 15_850, requests: 12, errors: 1, refused: 2, rpm: 3, tpm: 1200, overrun: 700 },
  'log.self_stat': { quota: 15_850, requests: 12, errors: 1, refused: 2, rpm: 3, tpm: 1200 },
  'log.facets': counts,
  'log.self_facets': { ...counts, facets: counts.facets.filter(({ by }) => by !== 'user' && by !== 'channel') },
  'log.breakdown': [
    { name: 'east', username: '', requests: 40, tokens: 90_000, quota: 2 * unit, cost: unit },
    { name: 'west', username: '', requests: 2, tokens: 900, quota: 1175, cost: null },
  ],
  'log.self_breakdown': [{ name: 'east', username: '', requests: 40, tokens: 90_000, quota: 2 * unit, cost: null }],
  'log.cache': [
    {
      id: 1,
      name: 'east',
      requests: 40,
      input_tokens: 90_000,
      cached_tokens: 72_000,
      missed: 2,
      lost: 900,
      sampled: false,
    },
    { id: 2, name: 'west', requests: 2, input_tokens: 900, cached_tokens: 0, missed: 0, lost: 0, sampled: false },
  ],
  'log.self_cache': [
    {
      id: 0,
      name: 'claude-code',
      requests: 40,
      input_tokens: 90_000,
      cached_tokens: 72_000,
      missed: 2,
      lost: 900,
      sampled: false,
    },
  ],
  'log.tail': [...logs].reverse(),
  'log.step': { items: [...logs].reverse(), next: '' },
  'log.verify': { checked: 7, unequal: 1, wrong: [{ id: 32, quota: 1175, expected: 1174 }] },
  'traffic.all': traffic,
  'traffic.self': traffic,
  'traffic.now': {
    ...{ seconds: 60, refused: 2 },
    total: { count: 12, failed: 1, p95: 2500, first_token: 420, tokens_per_second: 81.5, charge: 15_850 },
    channels: [{ id: 21, count: 11, failed: 1, p95: 2500, first_token: 420, tokens_per_second: 81.5, charge: 14_675 }],
    models: [
      { name: 'gpt-4o', count: 11, failed: 1, p95: 2500, first_token: 420, tokens_per_second: 81.5, charge: 14_675 },
    ],
    keys: [
      {
        ...{ id: 31, name: 'laptop', user: 'mira', count: 12, failed: 1, charge: 15_850 },
        ...{ p95: 2500, first_token: 420, tokens_per_second: 81.5 },
      },
    ],
  },
  'traffic.channels': channels.map(({ id, name, status }, at) => ({
    id,
    name,
    state: (['serving', 'slow', 'disabled', 'failing'] as const)[at] ?? 'idle',
    auto_disabled: status === 3,
    since: at === 0 ? 0 : now - at * hour,
    failed: at * 4,
    saved: at,
    saved_by: at === 0 ? [] : [{ id: 21, name: 'east', requests: at }],
    words: at === 3 ? '401 Incorrect API key' : '',
    p95: at === 2 ? null : 1800 + at * 1000,
    usual_p95: at === 2 ? null : 1700,
    requests_per_minute: at === 2 ? 0 : 3.5 - at,
    charged_today: at === 2 ? 0 : (4 - at) * unit,
    balance: at === 0 ? 12.5 : null,
    balance_lasts_days: at === 0 ? 2.5 : null,
    period: {
      attempts: at === 2 ? 0 : 200,
      failed: at * 4,
      first_token: at === 2 ? null : 310,
      p95: at === 2 ? null : 1800,
      bars: bars(at + 2),
    },
  })),
  'usage.all': [],
  'usage.self': [],
  'statement.get': ({ month }) => ({
    month: month ?? '2026-11',
    from: Date.UTC(2026, 10, 1) / 1000,
    to: Date.UTC(2026, 11, 1) / 1000 - 1,
    of: 'user',
    id: 7,
    name: 'Mira',
    username: 'mira',
    site: 'Acme Relay',
    in_currency: true,
    quota_per_unit: unit,
    lines: [
      {
        ...{ day: '2026-11-03', model: 'gpt-4o', refund: false, requests: 12 },
        ...{ prompt_tokens: 42_000, completion_tokens: 900, quota: 0.5 * unit },
      },
      {
        ...{ day: '2026-11-04', model: 'mj_imagine', refund: true, requests: 1 },
        ...{ prompt_tokens: 0, completion_tokens: 0, quota: -0.1 * unit },
      },
    ],
    total: { requests: 13, prompt_tokens: 42_000, completion_tokens: 900, quota: 0.4 * unit },
    bill: null,
    check: { checked: 13, unequal: 0 },
  }),
  'statement.shares': ({ month, by }) => ({
    month: month ?? '2026-11',
    from: Date.UTC(2026, 10, 1) / 1000,
    to: Date.UTC(2026, 11, 1) / 1000 - 1,
    by: by ?? 'label',
    shares: [
      {
        ...{ id: 0, name: 'team-a', user: 7, username: 'mira', requests: 12 },
        ...{ prompt_tokens: 42_000, completion_tokens: 900, quota: 0.5 * unit },
      },
      {
        ...{ id: 0, name: '', user: 7, username: 'mira', requests: 1 },
        ...{ prompt_tokens: 0, completion_tokens: 0, quota: -0.1 * unit },
      },
    ],
    total: { requests: 13, prompt_tokens: 42_000, completion_tokens: 900, quota: 0.4 * unit },
  }),
  'alert.rules': {
    targets: ['mail', 'slack'],
    rules: [
      alertRule('errors_high', 'Channel fails too often', {
        failed_percent: '20',
        failed_minutes: '5',
        failed_attempts: '20',
      }),
      alertRule('spend_high', 'Spend above the limit', { spend_limit: '0' }, { on: false }),
      alertRule('cache_halved', 'Cache hit rate halved', { cache_requests: '200' }),
      alertRule('disk_low', 'Disk space low', { disk_gb: '1' }, { on: false, muted: true, past: 'now' }),
    ],
  },
  'alert.preview': ({ kind }) => ({
    ...{ kind, from: now - 7 * 24 * hour, to: now, past: kind === 'disk_low' ? 'now' : 'stored' },
    coarse_until: kind === 'errors_high' ? now - 48 * hour : 0,
    count: kind === 'errors_high' ? 5 : 0,
    days: kind === 'errors_high' ? [0, 0, 0, 0, 3, 0, 2] : [0, 0, 0, 0, 0, 0, 0],
    alerts:
      kind === 'errors_high'
        ? [2, 3, 50, 51, 52].map((back) => ({
            at: now - back * hour,
            subject: '24',
            text: `Channel tired (#24): ${back}.0% of 200 attempts within 5 minutes failed, more than 20%`,
          }))
        : [],
  }),
  'alert.list': {
    targets: ['mail', 'slack'],
    alerts: [
      {
        kind: 'channel_failing',
        subject: '24',
        title: 'Channel failing',
        text: 'Channel tired (#24) keeps failing: 401 Incorrect API key',
        told_at: now - hour,
      },
      {
        kind: 'model_unpriced',
        subject: 'gpt-5.1',
        title: 'Model without a price',
        text: 'Model gpt-5.1 of an enabled channel has no price: requests for it are refused',
        told_at: 0,
      },
    ],
  },
  'provision.export': { version: 1, label: 'site', options: { SystemName: 'Acme Relay' } },
  'backup.status': {
    made_at: now - 5 * hour,
    file: 'gateway-20261126-0430.backup',
    place: '/var/backups',
    bytes: 12_345_678,
    tried_at: now - 5 * hour,
    error: '',
    every_hours: 24,
    missing: '',
  },
  'audit.list': page([audit(1, 'user.update'), audit(2, 'user.manage'), audit(3, 'option.set')]),
  'audit.get': audit(3, 'option.set'),
  'audit.undo': { undone: 1 },
  'audit.verify': { checked: 2, broken: null },
  'option.list': optionKeys.map((key) => ({ key, value: textOf(key) })),
  'option.details': optionKeys.map((key) => {
    const { secret = false } = optionRow(key);
    return { key, value: secret ? '' : textOf(key), secret, is_set: key === 'SMTPToken' };
  }),
  'ratio.models': models.map(({ name }, at) => ({
    ...facts(name),
    groups: ['default', 'vip'],
    channels: at === 2 ? [] : [{ id: 21 + at, name: 'east', priority: 10, input: 2, output: 8, per_call: null }],
    cost_input: at === 2 ? null : 2,
    cost_output: at === 2 ? null : 8,
    requests: at === 2 ? 0 : 400,
    tokens_in: at === 2 ? 0 : 900_000,
    tokens_out: at === 2 ? 0 : 80_000,
    charge: at === 2 ? 0 : 3 * unit,
    bars: bars(at + 4),
    suggestion: at === 2 ? { like: 'gpt-4o-mini', input: 0.15, output: 0.6, per_call: null } : null,
  })),
  'ratio.facts': ({ models: names }) => names.map(facts),
  'ratio.proposals': [
    {
      ...{ source: 'shipped', from: '', at: 1_764_331_200, held: [], error: '' },
      changes: [
        { key: 'ModelRatio', name: 'gpt-4o', before: '2.5', after: '1.25' },
        { key: 'CompletionRatio', name: 'gpt-4o', before: '3', after: '4' },
      ],
    },
  ],
  'ratio.apply_proposal': { version: 103, changes: [] },
  'ratio.reject_proposal': { rejected: 2 },
  'ratio.history': page([
    {
      ...{ id: 102, created_time: now - day, actor: 'root', reason: 'set', keys: ['ModelRatio', 'CompletionRatio'] },
      ...{ count: changes.length, changes },
    },
    {
      ...{ id: 101, created_time: now - 9 * day, actor: '', reason: 'sync', keys: ['ModelRatio'], count: 7 },
      changes: [{ key: 'ModelRatio', name: 'gpt-5.1', before: null, after: '0.625' }],
    },
  ]),
  'ratio.model_history': [
    {
      ...{ id: 102, created_time: now - day, actor: 'root', reason: 'set' },
      before: { input: 5, output: 15, cached: null, per_call: null },
      after: { input: 2.5, output: 10, cached: 1.25, per_call: null },
    },
  ],
  'ratio.changes': changes,
  'ratio.unset': ['gpt-5.1'],
  'ratio.propose': {
    held: [{ name: 'gpt-5.1', reason: 'threefold' }],
    changes,
    values: { ModelRatio: '{"gpt-4o":1.25}' },
  },
  'ratio.simulate': {
    requests: 400,
    before: 3 * unit,
    after: 2 * unit,
    models: [{ model: 'gpt-4o', requests: 400, before: 3 * unit, after: 2 * unit }],
  },
  'pricing.get': {
    success: true,
    message: '',
    data: models.map(({ name, maker, ratio, completion, cache, context, longest }) => ({
      model_name: name,
      quota_type: 0,
      model_ratio: ratio,
      model_price: 0,
      completion_ratio: completion,
      cache_ratio: cache,
      enable_groups: name === 'own-model' ? ['vip'] : ['default', 'vip'],
      owner_by: '',
      supported_endpoint_types: ['openai'],
      maker,
      context,
      longest,
      takes: takes[name] ?? [],
    })),
    virtual_models: [
      {
        name: 'coder',
        targets: [
          { model: 'gpt-4o', group: 'default', price: { input: 2.5, output: 10, call: null } },
          { model: 'claude-sonnet-4-5', group: 'vip', price: { input: 3, output: 15, call: null } },
        ],
      },
      {
        name: 'draw',
        targets: [{ model: 'gpt-image-1', group: 'default', price: { input: null, output: null, call: 0.04 } }],
      },
    ],
    group_ratio: { default: 1, vip: 0.8 },
    usable_group: { default: 'Everybody', vip: 'Friends' },
  },
  'redemption.list': page(codes),
  'redemption.search': page(codes.slice(0, 1)),
  'redemption.get': ({ id }) => codes.find((one) => one.id === Number(id)) ?? (codes[0] as Redemption),
  'wallet.orders_self': page(orders),
  'wallet.orders': {
    ...page(orders),
    sums: [
      { status: 'expired', currency: 'usd', orders: 1, quota: 10 * unit, money: '10.00' },
      { status: 'pending', currency: 'cny', orders: 1, quota: 10 * unit, money: '73.00' },
      { status: 'success', currency: 'cny', orders: 1, quota: 10 * unit, money: '73.00' },
    ],
  },
  'wallet.amount': { message: 'success', data: '73.00' },
  'wallet.callbacks': page([
    {
      id: 111,
      source: 'epay',
      event_id: 'e-1',
      trade_no: 'T202611260051',
      received_time: now - 2 * day,
      outcome: 'credited',
      body: 'trade_status=TRADE_SUCCESS',
    },
    {
      id: 112,
      source: 'stripe',
      event_id: 'evt_2',
      trade_no: '',
      received_time: now - day,
      outcome: 'unmatched',
      body: '{}',
    },
  ]),
  'affiliate.code': 'mIrA',
  'drawing.list': drawings,
  'drawing.self': drawings,
  'task.list': tasks,
  'task.self': tasks,
  'node.list': { several: true, nodes },
};

/** What changing something answers. */
export const done: Answers = {
  'provision.diff': differences,
  'provision.apply': differences,
  'session.login': people.user,
  'second_factor.login': people.user,
  'second_factor.begin': { secret: 'JBSWY3DPEHPK3PXP', uri: 'otpauth://totp/Acme:mira?secret=JBSWY3DPEHPK3PXP' },
  'second_factor.enable': { recovery_codes: ['aaaa-bbbb', 'cccc-dddd'] },
  'second_factor.renew': { recovery_codes: ['eeee-ffff'] },
  'account.reset': 'newPassword1',
  'user.create': user(9, 'new', {}),
  'user.update': { ...people.user, result: 'updated' },
  'user.manage': { role: 1, status: 1 },
  'user.end_sessions': { ended: 2 },
  'session.end_others': { ended: 1 },
  'access_token.create': {
    ...{ id: 93, name: 'made', hint: 'gat-ef…uv', scopes: ['read'], token: 'gat-efWholeTokenuv' },
    ...{ created_time: now, last_used_time: 0, expired_time: -1 },
  },
  'budget.set': ({ holder = 'site', subject = '', window = 'day', amount = 0, raise = 0, ...rest }) => ({
    ...{ ...dayOfMira, id: 4, name: holder === 'user' ? 'mira' : subject, used: 0 },
    ...{ holder, subject, window, amount, raise, bound: amount + raise },
    ...{ unit: rest.unit ?? 'money', zone: rest.zone ?? '', raise_until: rest.raise_until ?? 0 },
    resets: window === 'request' || window === '5h' ? null : dayOfMira.resets,
  }),
  'virtual_model.create': ({ targets, ...rest }) =>
    chainWith({ ...coder, id: 3, boundary: '', description: '' }, rest, targets),
  'virtual_model.update': ({ id, targets, ...rest }) =>
    chainWith(virtualModels.find((one) => one.id === id) ?? coder, rest, targets),
  'filter.save': { id: 96, place: 'logs', name: 'mine', query: '' },
  'token.create': token(16, 'made', { key: 'madeKey0123456789' }),
  'token.update': tokens[0] as Token,
  'token.rotate': token(11, 'laptop', { key: 'turnedKey0123456789' }),
  'token.retire': tokens[1] as Token,
  'token.share': { path: '/key#secret-1', until: now + day },
  'token.unshare': tokens[1] as Token,
  'token.delete_many': 2,
  'chat.open': { name: 'Talk', url: 'https://talk.example/?key=sk-x&address={address}', token_name: 'chat' },
  'channel.create': [channel(25, 'made', {})],
  'channel.update': channels[0] as Channel,
  'channel.copy': channel(26, 'east copy', {}),
  'channel.test': { success: true, message: '', time: 0.84 },
  'channel.unsupported_store': unsupportedMembers,
  'channel.unsupported_confirm': unsupportedMembers[0] as Output<'channel.unsupported_confirm'>,
  'channel.probe': {
    ...probePlan,
    lines: [
      { question: 'plain', upstream: 'taken', rows: 'taken', differs: false, member: '', words: '' },
      {
        ...{ question: 'seed', upstream: 'refused', rows: 'taken', differs: true, member: 'openai-chat:seed' },
        words: "Unsupported parameter: 'seed'",
      },
    ],
    spent: 0.0021,
  },
  'channel.key_test': { success: true, message: '', time: 0.84 },
  'channel.key_update': channelKeys[3] as Output<'channel.key_update'>,
  'channel.try': { success: true, message: '', time: 0.84, first_token_time: 0.3 },
  'channel.test_many': channels.map(({ id, name }, at) => ({
    id,
    name,
    success: at !== 3,
    message: at === 3 ? '401 Incorrect API key' : '',
    time: 0.5 + at,
    first_token_time: at === 1 ? 0.25 : null,
  })),
  'channel.balance': { success: true, message: '', balance: 12.5 },
  'channel.practice': { type: 100, base_url: 'http://127.0.0.1:9', models: ['practice-small'] },
  'channel.delete_disabled': 2,
  'channel.delete_many': 2,
  'channel.tag_many': 2,
  'channel.status_many': 2,
  'channel.tag_edit': 2,
  'channel.tag_enable': 2,
  'channel.tag_disable': 2,
  'channel.fix': 0,
  'redemption.create': ['c0deNEW1', 'c0deNEW2'],
  'redemption.update': codes[0] as Redemption,
  'redemption.delete_invalid': 3,
  'redemption.redeem': 10 * unit,
  'wallet.pay': { message: 'success', data: { pid: '1', sign: 'x' }, url: 'https://pay.example/submit' },
  'wallet.stripe_pay': { message: 'success', data: { pay_link: 'https://pay.example/stripe' } },
  'wallet.complete': orders[0] as TopUpOrder,
  'wallet.refund': { ...(orders[0] as TopUpOrder), refunded: '73.00' },
  'invoice.list': page(invoices),
  'invoice.list_self': page(invoices),
  'invoice.get': invoice,
  'statement.schedules': [
    {
      ...{ id: 1, user_id: 7, username: 'mira', of: 'user', name: 'mira', every: 'month', email: '', paused: false },
      ...{
        created_time: now - 40 * day,
        period: '2026-10',
        state: 'sent',
        tries: 1,
        tried_time: now - 25 * day,
        error: '',
      },
    },
    {
      ...{ id: 2, user_id: 7, username: 'mira', of: 'token', name: 'ci', every: 'week', email: 'books@acme.example' },
      ...{ paused: true, created_time: now - 40 * day, period: '2026-W47', state: 'failed', tries: 8 },
      ...{ tried_time: now - 3 * day, error: 'The mail server is away' },
    },
  ],
  'statement.schedule': { id: 3 },
  'statement.edit_schedule': null,
  'statement.delete_schedule': null,
  'link.list': page(links),
  'link.create': {
    ...{ id: 3, path: '/document#AAECAwQFBgcICQoLDA0ODw', expires_time: now + 30 * day, title: invoice.number },
  },
  'link.revoke': null,
  'link.open': { expires_time: now + 30 * day, invoice, statement: null },
  'invoice.buyer': { name: 'Mira GmbH', address: 'Weg 1\n10115 Berlin', tax_id: 'DE123456789' },
  'invoice.save_buyer': { name: 'Mira GmbH', address: 'Weg 1\n10115 Berlin', tax_id: 'DE123456789' },
  'option.set': { result: 'updated' },
  'option.reset': { result: 'updated' },
  'option.reset_ratios': { version: 103 },
  'option.oidc_discovery': {
    issuer: 'https://id.example',
    authorization_endpoint: 'https://id.example/authorize',
    token_endpoint: 'https://id.example/token',
    user_info_endpoint: 'https://id.example/me',
  },
  'ratio.set': { version: 103, changes },
  'ratio.apply': { version: 103 },
  'ratio.rollback': { version: 104, changes },
  'alert.test': [
    { target: 'mail', ok: true, message: '' },
    { target: 'slack', ok: false, message: 'HTTP 404' },
  ],
  'alert.mail_test': { to: 'root@example.com', ok: false, message: '535 5.7.8 Authentication failed' },
  'backup.run': {
    ...{ made_at: now, file: 'gateway-20261126-0930.backup', place: '/var/backups' },
    ...{ bytes: 12_400_000, tried_at: now, error: '' },
  },
  'log.prune': 12,
  'oauth.begin': { url: 'https://id.example/authorize?state=state-1' },
  'oauth.callback': people.user,
  'oauth.wechat': people.user,
  'oauth.telegram_login': people.user,
  'passkey.login_options': { ticket: 't', options: {} },
  'passkey.register_options': { ticket: 't', options: {} },
};

/** The same site before anybody has done anything. */
export const empty: Answers = {
  ...filled,
  'status.notice': '',
  'status.about': '',
  'status.models': {},
  'user.models': [],
  'user.list': page([people.root]),
  'user.search': page([]),
  'passkey.list': [],
  'access_token.list': [],
  'sign_in.list': { open: false, items: [] },
  'filter.list': [],
  'token.list': [],
  'token.search': [],
  'channel.list': [],
  'channel.selection': [],
  'channel.search': [],
  'channel.models_enabled': [],
  'log.list': page([]),
  'log.self': page([]),
  'log.stat': { quota: 0, requests: 0, errors: 0, refused: 0, rpm: 0, tpm: 0, overrun: 0 },
  'log.self_stat': { quota: 0, requests: 0, errors: 0, refused: 0, rpm: 0, tpm: 0 },
  'log.facets': { ...counts, total: 0, errors: 0, buckets: [], facets: [] },
  'log.self_facets': { ...counts, total: 0, errors: 0, buckets: [], facets: [] },
  'log.breakdown': [],
  'log.self_breakdown': [],
  'log.cache': [],
  'log.self_cache': [],
  'traffic.all': ({ start_timestamp: from, end_timestamp: to }) => ({
    from: Number(from ?? now - day),
    to: Number(to ?? now),
    step: hour,
    total: stats(0),
    series: [],
  }),
  'traffic.self': ({ start_timestamp: from, end_timestamp: to }) => ({
    from: Number(from ?? now - day),
    to: Number(to ?? now),
    step: hour,
    total: stats(0),
    series: [],
  }),
  'traffic.now': {
    ...{ seconds: 60, refused: 0, channels: [], models: [], keys: [] },
    total: { count: 0, failed: 0, p95: null, first_token: null, tokens_per_second: null, charge: 0 },
  },
  'traffic.channels': [],
  'statement.get': {
    ...{ month: '2026-11', from: 0, to: 0, of: 'user', id: 7, name: 'Mira', username: 'mira', site: '' },
    ...{ in_currency: true, quota_per_unit: unit, lines: [], check: null, bill: null },
    total: { requests: 0, prompt_tokens: 0, completion_tokens: 0, quota: 0 },
  },
  'alert.rules': {
    targets: [],
    rules: [alertRule('spend_high', 'Spend above the limit', { spend_limit: '0' }, { on: false })],
  },
  'alert.list': { targets: [], alerts: [] },
  'ratio.models': [],
  'ratio.proposals': [],
  'ratio.history': page([]),
  'ratio.model_history': [],
  'ratio.unset': [],
  'pricing.get': {
    success: true,
    message: '',
    data: [],
    group_ratio: { default: 1 },
    usable_group: { default: 'All' },
  },
  'redemption.list': page([]),
  'redemption.search': page([]),
  'wallet.orders_self': page([]),
  'wallet.orders': { ...page([]), sums: [] },
  'wallet.callbacks': page([]),
  'invoice.list': page([]),
  'invoice.list_self': page([]),
  'link.list': page([]),
  'statement.schedules': [],
  'drawing.list': [],
  'drawing.self': [],
  'task.list': [],
  'task.self': [],
  'node.list': { several: false, nodes: [nodes[0] as (typeof nodes)[number]] },
};
