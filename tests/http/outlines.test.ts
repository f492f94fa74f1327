/** Every call of the API as strangers, users and root make it, on a site with a little of everything, against a text that a person has read. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Access, Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { fillLog } from '../engines/walk.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';

/** Moves on whenever somebody signs in. */
let at = Date.UTC(2026, 5, 1, 12) / 1000;
let api: ApiFixture;
let callers: Readonly<Record<string, Headers>> = {};
/** Names of other sites are asked of nobody. */
const nobody = (async () => Response.json({})) as unknown as typeof fetch;

beforeAll(async () => {
  fixTimeZone();
  api = await createApiFixture({}, { engine: 'sqlite', now: () => at * 1000, fetch: nobody, upstreamFetch: nobody });
  await api.addUser('boss', 100);
  await api.addUser('mira', 1);
});
afterAll(() => api.close());
beforeEach(async () => {
  const user = await api.login('mira', 'password1');
  at += 60;
  const root = await api.login('boss', 'password1');
  at += 60;
  callers = {
    stranger: { 'accept-language': 'zh' },
    user: { ...user, 'accept-language': 'zh' },
    root: { ...root, 'accept-language': 'en' },
  };
});

/** What a run makes by chance. */
const steady = (text: string): string =>
  text
    .replace(/[A-Za-z0-9_-]{40,}/g, 'RANDOM')
    .replace(/"data":"(?:[\w-]{24,}|\w{4})"/g, '"data":"RANDOM"')
    .replace(/\/document#[\w-]{22}/g, '/document#RANDOM')
    .replace(/\b[0-9a-f]{24,32}\b|\b[A-Z2-7]{32}\b/g, 'RANDOM')
    .replace(/\b[A-Za-z0-9]{4}\*{10}[A-Za-z0-9]{4}\b/g, 'KEY')
    .replace(/"(affiliate|aff_code)":"[^"]*"/g, '"$1":"CODE"')
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replaceAll(api.gateway.dir, 'DIR');

const usual = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'content-type': 'application/json; charset=utf-8',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-oneapi-request-id': 'req',
};
const most = 700;

async function said(method: string, path: string, body: unknown, headers: Headers): Promise<string[]> {
  const response = await fetch(api.base + path, {
    method,
    redirect: 'manual',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = steady(await response.text());
  const found = Object.fromEntries(response.headers);
  const missing = Object.keys(usual).filter((name) => found[name] === undefined);
  const others = [...response.headers].filter(
    ([name, value]) =>
      !['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding', 'vary'].includes(name) &&
      usual[name as keyof typeof usual] !== value,
  );
  return [
    `  ${response.status} ${text.length > most ? `${text.slice(0, most)} …${text.length > 20_000 ? '' : ` ${text.length}`}` : text}`,
    ...others.map(([name, value]) => `    ${name}: ${steady(value).replace(/Expires=[^;]*/, 'Expires=…')}`),
    ...missing.map((name) => `    without ${name}`),
  ];
}

/** Calls in their order; what is written with @ is who makes them. */
type Call = readonly [who: string, method: string, path: string, body?: unknown, more?: Headers];

async function course(calls: readonly Call[]): Promise<string[]> {
  const lines: string[] = [];
  for (const [who, method, path, body, more = {}] of calls) {
    const extra = Object.entries(more).map(([name, value]) => ` ${name}: ${value}`);
    lines.push(
      `${who}: ${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body).slice(0, 300)}`}${extra.join('')}`,
    );
    lines.push(...(await said(method, path, body, { ...callers[who], ...more })));
  }
  return lines;
}

const channel = { name: 'east', type: 1, key: 'sk-upstream-1', models: 'gpt-4o,o3', group: 'default,vip', tag: 'main' };
const site: readonly Call[] = [
  ['root', 'POST', '/api/channel/', channel],
  ['root', 'POST', '/api/channel/', { mode: 'batch', channel: { ...channel, name: 'west', key: 'sk-a\nsk-b' } }],
  ['root', 'POST', '/api/channel/', { ...channel, key: '' }],
  ['root', 'POST', '/api/channel/', { ...channel, type: 'x' }],
  ['root', 'POST', '/api/channel/', { ...channel, nme: 'x' }],
  ['root', 'PUT', '/api/channel/', { id: 1, priority: 5, weight: 2, other: 'x' }],
  ['root', 'PUT', '/api/channel/', { id: 1, status: 2 }],
  ['root', 'PUT', '/api/channel/', { id: 99, weight: 2 }],
  ['root', 'GET', '/api/channel/?p=0&page_size=2'],
  ['root', 'GET', '/api/channel/?p=1&page_size=2'],
  ['root', 'GET', '/api/channel/?p=2&ps=1&status=enabled'],
  ['root', 'GET', '/api/channel/?tag_mode=true'],
  ['root', 'GET', '/api/channel/?id_sort=true&size=1'],
  ['root', 'GET', '/api/channel/search?keyword=west'],
  ['root', 'GET', '/api/channel/search?keyword=west&p=2&page_size=1'],
  ['root', 'GET', '/api/channel/search?group=vip&model=o3'],
  ['root', 'GET', '/api/channel/search?keyword=sk-upstream-1'],
  ['root', 'GET', '/api/channel/1'],
  ['root', 'GET', '/api/channel/copy/1'],
  ['root', 'POST', '/api/channel/copy/1?suffix=_two&reset_balance=true'],
  ['root', 'PUT', '/api/channel/tag', { tag: 'main', new_tag: 'next', priority: 3 }],
  ['root', 'POST', '/api/channel/tag/disabled', { tag: 'next' }],
  ['root', 'POST', '/api/channel/tag/enabled', { tag: 'next' }],
  ['root', 'POST', '/api/channel/batch/tag', { ids: [1, 2], tag: 'some' }],
  ['root', 'POST', '/api/channel/batch', { ids: [2, 77] }],
  ['root', 'POST', '/api/channel/fix'],
  ['root', 'DELETE', '/api/channel/disabled'],
  ['root', 'DELETE', '/api/channel/3'],
  [
    'root',
    'POST',
    '/api/token/',
    { name: 'laptop', remain_quota: 500, expired_time: -1, model_limits_enabled: true, model_limits: 'o3' },
  ],
  ['user', 'POST', '/api/token/', { name: 'mine', unlimited_quota: true, rpm: 5 }],
  ['user', 'POST', '/api/token/', { name: 'mine', remain_quota: -1 }],
  ['user', 'POST', '/api/token/', { name: 'mine', remain_quota: 1 }],
  ['user', 'POST', '/api/token/', { name: 'n'.repeat(60) }],
  ['user', 'PUT', '/api/token/?status_only=true', { id: 2, status: 2 }],
  ['user', 'PUT', '/api/token/', { id: 2, name: 'ours', remain_quota: 7, unlimited_quota: false }],
  ['user', 'PUT', '/api/token/', { id: 1, name: 'stolen' }],
  ['user', 'GET', '/api/token/?p=1&size=10'],
  ['user', 'GET', '/api/token/?p=1&page_size=10'],
  ['user', 'GET', '/api/token/search?keyword=ours'],
  ['user', 'GET', '/api/token/search?keyword=ours&p=1&ps=5'],
  ['root', 'GET', '/api/token/?owner=all'],
  ['user', 'GET', '/api/token/2'],
  ['user', 'GET', '/api/token/1'],
  ['user', 'POST', '/api/token/batch', { ids: [2, 1] }],
  ['root', 'POST', '/api/user/', { username: 'new', password: 'password1', display_name: 'N', role: 1 }],
  ['root', 'POST', '/api/user/', { username: 'new', password: 'password1' }],
  ['root', 'POST', '/api/user/', { username: '', password: 'short' }],
  ['root', 'PUT', '/api/user/', { id: 4, username: 'newer', group: 'vip', quota: 1000 }],
  ['root', 'POST', '/api/user/manage', { id: 4, action: 'disable' }],
  ['root', 'POST', '/api/user/manage', { id: 4, action: 'enable' }],
  ['root', 'POST', '/api/user/manage', { id: 4, action: 'promote' }],
  ['root', 'POST', '/api/user/manage', { id: 4, action: 'demote' }],
  ['root', 'POST', '/api/user/manage', { id: 4, action: 'dance' }],
  ['root', 'POST', '/api/user/manage', { id: 4, action: 'enable', add_quota: 5 }],
  ['root', 'GET', '/api/user/?p=1&page_size=2'],
  ['root', 'GET', '/api/user/?p=0&size=2&sort=-quota'],
  ['root', 'GET', '/api/user/search?keyword=newer&group=vip'],
  ['root', 'GET', '/api/user/4'],
  ['root', 'DELETE', '/api/user/4'],
  ['user', 'GET', '/api/user/self'],
  ['user', 'PUT', '/api/user/self', { display_name: 'Mira' }],
  ['user', 'PUT', '/api/user/self', { password: 'password2', original_password: 'wrong' }],
  ['user', 'PUT', '/api/user/setting', { notify_type: 'webhook', webhook_url: 'nonsense' }],
  ['user', 'GET', '/api/user/aff'],
  ['user', 'POST', '/api/user/aff_transfer', { quota: 1 }],
  ['user', 'POST', '/api/user/topup', { key: 'nothing' }],
  ['user', 'POST', '/api/user/amount', { amount: 10 }],
  ['user', 'POST', '/api/user/pay', { amount: 10, payment_method: 'alipay' }],
  ['root', 'POST', '/api/redemption/', { name: 'gift', quota: 500, count: 2 }],
  ['root', 'POST', '/api/redemption/', { name: '', quota: 0, count: 0 }],
  ['root', 'GET', '/api/redemption/?p=0'],
  ['root', 'GET', '/api/redemption/?p=1&page_size=1&sort=-id'],
  ['root', 'GET', '/api/redemption/search?keyword=gift'],
  ['root', 'GET', '/api/redemption/1'],
  ['root', 'PUT', '/api/redemption/', { id: 1, name: 'present', quota: 700 }],
  ['root', 'PUT', '/api/redemption/?status_only=true', { id: 1, status: 2 }],
  ['root', 'DELETE', '/api/redemption/invalid'],
  ['root', 'DELETE', '/api/redemption/2'],
  ['root', 'PUT', '/api/option/', { key: 'SystemName', value: 'Ours' }],
  ['root', 'PUT', '/api/option/', { key: 'Nothing', value: '1' }],
  ['root', 'PUT', '/api/option/', { key: 'RetryTimes', value: 'x' }],
  ['root', 'GET', '/api/log/?p=1&page_size=2'],
  ['root', 'GET', '/api/log/?p=0&size=2&type=5'],
  ['root', 'GET', '/api/log/?p=1&page_size=2&sort=-quota&model_name=o3'],
  ['root', 'GET', '/api/log/stat?type=2'],
  ['root', 'GET', '/api/log/search?keyword=req7'],
  ['root', 'GET', '/api/log/one/7'],
  ['root', 'GET', '/api/log/export?format=csv&limit=3'],
  ['root', 'GET', '/api/log/stat/by?by=model'],
  ['user', 'GET', '/api/log/self?p=1&page_size=1'],
  ['user', 'GET', '/api/log/self/stat'],
  ['root', 'DELETE', '/api/log/?target_timestamp=1'],
  ['root', 'GET', '/api/data/?start_timestamp=1780000000&end_timestamp=1780090000'],
  ['user', 'GET', '/api/data/self?start_timestamp=1780000000&end_timestamp=1780090000'],
  ['user', 'GET', '/api/statement?month=2026-06'],
  ['user', 'GET', '/api/statement?month=June'],
  ['root', 'GET', '/api/audit/?p=0'],
  ['stranger', 'POST', '/api/user/login', { username: 'mira', password: 'wrong' }],
  ['stranger', 'POST', '/api/user/login', { username: 'mira', password: 'password1' }, { 'x-gateway-tls': '1' }],
  ['stranger', 'POST', '/api/user/register', { username: 'ann', password: 'password1' }],
  ['stranger', 'GET', '/api/user/logout'],
  ['stranger', 'GET', '/api/oauth/state?aff=x'],
];

/** Whoever sends it, and however. */
const odd: readonly Call[] = [
  ['stranger', 'GET', '/api/nothing', undefined, { 'accept-language': 'en' }],
  ['stranger', 'GET', '/API/status'],
  ['stranger', 'PATCH', '/api/status'],
  ['root', 'PATCH', '/api/channel/1', {}],
  ['root', 'POST', '/api/user/manage', '{"id":'],
  ['root', 'POST', '/api/user/manage', '[1]'],
  ['root', 'POST', '/api/user/manage', '"text"'],
  ['root', 'POST', '/api/user/manage', `${'['.repeat(129)}${']'.repeat(129)}`],
  ['root', 'POST', '/api/user/manage', `${'["]"'.repeat(3)}${'['.repeat(125)}${']'.repeat(128)}`],
  ['root', 'POST', '/api/user/manage', { id: 3, action: 'enable', text: '\\"]]}}' }],
  ['root', 'POST', '/api/user/manage', `{"id":3,"action":"\\"${'['.repeat(129)}"}`],
  ['root', 'POST', '/api/user/manage', `{"id":3,"action":"\\\\","x":${'['.repeat(129)}}`],
  ['root', 'POST', '/api/user/manage', { id: 3, acton: 'enable' }],
  ['root', 'POST', '/api/user/manage', { id: 3.5, action: 7 }],
  ['root', 'POST', '/api/user/manage', `"${'x'.repeat(1_048_576)}"`],
  ['root', 'POST', '/api/user/manage', 'x', { 'content-encoding': 'zip' }],
  ['root', 'POST', '/api/user/manage', 'x', { 'content-type': 'application/json; charset=none' }],
  ['root', 'GET', '/api/channel/%zz'],
  ['root', 'GET', '/api/status', undefined, { 'x-gateway-tls': '1' }],
  ['root', 'GET', '/api/user/self', undefined, { 'new-api-user': '' }],
  ['root', 'GET', '/api/user/self', undefined, { 'new-api-user': 'me' }],
  ['root', 'GET', '/api/user/self', undefined, { 'new-api-user': '77' }],
  ['root', 'POST', '/api/channel/fix', {}, { 'sec-fetch-site': 'cross-site' }],
  ['root', 'POST', '/api/channel/fix', {}, { 'sec-fetch-site': 'none' }],
  ['stranger', 'POST', '/api/user/login', { username: 'x', password: 'y' }, { origin: 'https://evil.example' }],
  ['stranger', 'GET', '/api/user/self', undefined, { authorization: 'Bearer nothing' }],
  ['stranger', 'GET', '/api/status', undefined, { authorization: 'Bearer nothing', 'accept-language': 'fr' }],
  ['stranger', 'GET', '/api/user/self', undefined, { cookie: 'session=x; __Host-session = y ; other' }],
];

/** What a call may not be made without, as it is said: recorded is what is answered otherwise. */
const refusals: Readonly<Record<string, { readonly of: readonly Access[]; readonly line: string }>> = {
  stranger: {
    of: ['user', 'admin', 'root'],
    line: '  401 {"success":false,"message":"无权进行此操作，未登录且未提供 access token","code":"login_required"}',
  },
  user: {
    of: ['admin', 'root'],
    line: '  200 {"success":false,"message":"无权进行此操作，权限不足","code":"role_too_low"}',
  },
};

test('every call as strangers, users and root make it, with nothing in it', async () => {
  const lines: string[] = [];
  const refused: Record<string, number> = { stranger: 0, user: 0 };
  const rows = (endpoints as readonly Endpoint[]).toSorted(
    (a, b) => Number(a.method !== 'GET') - Number(b.method !== 'GET'),
  );
  for (const row of rows) {
    if (/^(update|backup|oauth|setup)\./.test(row.id)) continue;
    const path = row.path.replace(/:\w+/g, '0');
    for (const who of ['stranger', 'user', 'root']) {
      // Nobody is signed out or removed here.
      if (who !== 'stranger' && /^(session|user|account)\.(logout|delete|close|end)/.test(row.id)) continue;
      const answer = await said(row.method, path, row.method === 'GET' ? undefined : {}, callers[who] ?? {});
      const refusal = refusals[who];
      if (refusal?.of.includes(row.access) === true && answer.join('\n') === refusal.line) {
        refused[who] = (refused[who] ?? 0) + 1;
        continue;
      }
      // Who is answered like the one before stands beside him.
      const call = `: ${row.id} ${row.method} ${path}`;
      const before = lines.length - answer.length - 1;
      const same = lines[before]?.endsWith(call) === true && lines.slice(before + 1).join('\n') === answer.join('\n');
      if (same) lines[before] = lines[before]?.replace(':', `, ${who}:`) ?? '';
      else lines.push(who + call, ...answer);
    }
  }
  lines.push('refused as their access says', `  ${JSON.stringify(refused)}`);
  expectGolden('tests/http/outlines/empty.txt', lines);
  expect(lines.length).toBeGreaterThan(300);
});

test('a site that is worked with', async () => {
  await fillLog(api.gateway.database, 'usage_hours');
  await api.gateway.sync();
  expectGolden('tests/http/outlines/site.txt', await course(site));
  expect(site.length).toBeGreaterThan(80);
});

test('what is odd about a request', async () => {
  expectGolden('tests/http/outlines/odd.txt', await course(odd));
  expect(odd.length).toBeGreaterThan(20);
});
