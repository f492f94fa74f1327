import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { scopes } from '../../server/contract/scopes.ts';
import { isMutation } from '../../server/http/invoke.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { figure } from '../support/figure.ts';
import { inShare } from '../support/often.ts';

let api: ApiFixture;
let root: Headers;
let rootId: number;
let clock: number;
beforeEach(async () => {
  clock = Date.now();
  api = await createApiFixture(
    {},
    { now: () => clock, fetch: (async () => Response.json({})) as unknown as typeof fetch },
  );
  ({ headers: root, id: rootId } = await api.addUser('root', 100));
});
afterEach(() => api.close());

const make = async (given: string, as: Headers = root, more: object = {}) =>
  (await api.send('POST', '/api/access_token/', { name: given || 'none', scopes: given, ...more }, as)).body;
const bearer = async (given: string, as: Headers = root, id = rootId): Promise<Headers> => {
  const { data } = await make(given, as);
  return { authorization: `Bearer ${(data as { token: string }).token}`, 'new-api-user': String(id) };
};
const ask = async (method: string, path: string, as: Headers, body?: object) =>
  (await api.send(method, path, body, as)).body;

/** By hand: which nouns a scope opens. What stands in none of them is nobody's but the user's own. */
const nouns: Readonly<Record<string, readonly string[]>> = {
  channels: ['channel', 'route', 'model', 'virtual_model'],
  tokens: ['token', 'chat', 'sign_in'],
  users: ['user', 'second_factor'],
  logs: ['log', 'usage', 'traffic', 'drawing', 'task', 'audit'],
  billing: ['redemption', 'wallet', 'affiliate', 'pricing', 'statement', 'budget', 'invoice', 'link'],
  settings: ['option', 'ratio', 'provision', 'group', 'status', 'update', 'setup'],
};
const never = new Set([
  'user.update_self',
  'user.close_self',
  'user.access_token',
  'user.access_token_get',
  'sign_in.look',
  'sign_in.decide',
  'sign_in.authorize',
  'setup.run',
  'audit.undo',
]);

/** The sections of the file decide. */
const byContent = new Set(['provision.apply', 'provision.diff']);

function opens(scope: string, row: Endpoint): boolean {
  if (row.access === 'local') return false;
  if (byContent.has(row.id)) return !isMutation(row) || (scope !== 'read' && !scope.endsWith(':read'));
  if (row.access === 'public' && !isMutation(row)) return true;
  const noun = row.id.split('.')[0] ?? '';
  const own = never.has(row.id) || (noun === 'second_factor' && row.id !== 'second_factor.reset');
  const [area = '', only] = scope.split(':');
  if (isMutation(row)) {
    if (own || !Object.values(nouns).flat().includes(noun)) return false;
    return scope === 'write' || (only === undefined && (nouns[area] ?? []).includes(noun));
  }
  return scope === 'read' || scope === 'write' || (!own && (nouns[area] ?? []).includes(noun));
}

test('every scope opens what it names and nothing else, over the whole table', async () => {
  const wrong: string[] = [];
  let attempts = 0;
  let opened = 0;
  for (const [index, scope] of scopes.entries()) {
    const headers = await bearer(scope);
    for (const [at, row] of (endpoints as readonly Endpoint[]).entries()) {
      if (!inShare(at, index)) continue;
      const reads = row.method === 'GET' || row.method === 'DELETE';
      const path = row.path.replace(/:type/, 'github').replace(/:\w+/, '999999');
      const { body } = await api.send(row.method, path, reads ? undefined : {}, headers);
      const reached = !['scope_too_small', 'role_too_low', 'local_only'].includes(body.code ?? '');
      attempts += 1;
      opened += Number(reached);
      if (reached !== opens(scope, row)) wrong.push(`${scope}: ${row.id} ${reached ? 'opened' : 'shut'}`);
    }
  }
  figure(`${scopes.length} scopes x ${endpoints.length} rows: ${opened} of ${attempts} open`);
  expect(wrong).toEqual([]);
});

test('a token is shown once, listed by its hint, used, and removed', async () => {
  const made = (await make('channels,logs:read')).data as { id: number; token: string; hint: string };
  expect(made).toMatchObject({ scopes: ['channels', 'logs:read'], expired_time: -1, last_used_time: 0 });
  expect(made.token).toMatch(/^gat_[\w-]{43}$/);
  const headers = { authorization: made.token, 'new-api-user': String(rootId) };
  expect((await ask('GET', '/api/channel/', headers)).success).toBe(true);
  const listed = await ask('GET', '/api/access_token/', root);
  expect(JSON.stringify(listed)).not.toContain(made.token);
  expect(listed.data).toMatchObject([{ id: made.id, hint: made.hint, last_used_time: Math.floor(clock / 1000) }]);
  expect((await ask('DELETE', `/api/access_token/${made.id}`, root)).success).toBe(true);
  expect((await ask('GET', '/api/channel/', headers)).code).toBe('access_token_invalid');
  const rows = await api.gateway.database.query.selectFrom('access_tokens').selectAll().execute();
  expect(rows).toEqual([]);
});

test('the refusal says what was out of reach, in both languages', async () => {
  const headers = await bearer('channels:read');
  const answer = await api.send('POST', '/api/channel/', {}, headers);
  expect([answer.status, answer.body.message]).toEqual([
    403,
    '无权进行此操作，访问令牌的权限范围不包括 channel.create',
  ]);
  expect((await ask('GET', '/api/user/', { ...headers, 'accept-language': 'en' })).message).toBe(
    'This access token lacks the scope for user.list',
  );
});

test('scopes never reach further than their user', async () => {
  const plain = await api.addUser('plain', 1);
  const headers = await bearer('write', plain.headers, plain.id);
  expect((await ask('GET', '/api/channel/', headers)).code).toBe('role_too_low');
  expect((await ask('POST', '/api/token/', headers, { name: 'a' })).success).toBe(true);
  await api.send('POST', '/api/user/manage', { id: plain.id, action: 'disable' }, root);
  expect((await ask('GET', '/api/token/', headers)).code).toBe('user_disabled');
  await api.send('POST', '/api/user/manage', { id: plain.id, action: 'delete' }, root);
  expect((await ask('GET', '/api/token/', headers)).code).toBe('access_token_invalid');
});

test('a token cannot make itself more than it is', async () => {
  for (const scope of ['write', 'users', 'tokens', 'settings']) {
    const headers = await bearer(scope);
    for (const [method, path, body] of [
      ['POST', '/api/access_token/', { name: 'more', scopes: 'write' }],
      ['POST', '/api/user/token', {}],
      ['GET', '/api/user/token', undefined],
      ['PUT', '/api/user/self', { password: 'password9' }],
      ['PUT', '/api/user/', { id: rootId, password: 'password9' }],
      ['POST', '/api/user/2fa', {}],
      ['POST', '/api/user/2fa/reset', { id: rootId }],
      ['POST', '/api/passkey/options', {}],
      ['POST', '/api/oauth/unbind', { type: 'github' }],
      ['DELETE', '/api/user/self', undefined],
    ] as const)
      expect([scope, path, (await ask(method, path, headers, body)).code]).toEqual([scope, path, 'scope_too_small']);
  }
  await api.login('root', 'password1');
});

test('a read scope returns no keys that spend', async () => {
  await api.send('POST', '/api/token/', { name: 'laptop' }, root);
  await api.send('POST', '/api/redemption/', { name: 'a', quota: 5, count: 1 }, root);
  await api.send(
    'PUT',
    '/api/user/setting',
    { notify_type: 'webhook', webhook_url: 'https://h.example', webhook_secret: 'hook-canary' },
    root,
  );
  const places = [
    '/api/token/?p=0',
    '/api/token/search?keyword=laptop',
    '/api/token/1',
    '/api/redemption/?p=0',
    '/api/redemption/1',
    '/api/user/self',
  ];
  const texts = async (headers: Headers) =>
    (await Promise.all(places.map(async (path) => JSON.stringify((await ask('GET', path, headers)).data)))).join('\n');
  const secrets = /"\w{48}"|"[0-9a-f]{32}"|hook-canary/g;
  expect((await texts(root)).match(secrets)).toHaveLength(5);
  expect((await texts(await bearer('read'))).match(secrets)).toBeNull();
  expect((await texts(await bearer('tokens:read,billing:read,users:read'))).match(secrets)).toBeNull();
  expect((await texts(await bearer('tokens,billing,users'))).match(secrets)).toHaveLength(5);
});

test('a token ends when it says', async () => {
  const { data } = await make('read', root, { expired_time: Math.floor(clock / 1000) + 60 });
  const headers = { authorization: (data as { token: string }).token, 'new-api-user': String(rootId) };
  clock += 59_000;
  expect((await ask('GET', '/api/token/', headers)).success).toBe(true);
  clock += 1000;
  expect((await ask('GET', '/api/token/', headers)).code).toBe('access_token_invalid');
});

test.each([
  ['请至少选择一个权限范围', { name: 'a', scopes: '' }],
  ['未知的权限范围 everything', { name: 'a', scopes: 'read,everything' }],
  ['请输入名称', { name: ' ', scopes: 'read' }],
  ['令牌名称过长', { name: 'x'.repeat(41), scopes: 'read' }],
  ['过期时间格式错误！', { name: 'a', scopes: 'read', expired_time: 5 }],
])('refused: %s', async (message, body) => {
  expect((await api.send('POST', '/api/access_token/', body, root)).body).toMatchObject({ success: false, message });
});

test('fifty are kept, and others’ are not found', async () => {
  for (let at = 0; at < 50; at++) expect((await make('read')).success).toBe(true);
  expect((await make('read')).message).toBe('最多可创建 50 个访问令牌');
  const other = await api.addUser('other', 100);
  const [first] = (await ask('GET', '/api/access_token/', root)).data as { id: number }[];
  expect((await ask('DELETE', `/api/access_token/${first?.id}`, other.headers)).success).toBe(false);
  expect((await ask('GET', '/api/access_token/', other.headers)).data).toEqual([]);
});
