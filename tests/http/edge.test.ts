import { afterEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture } from '../support/api.ts';

const open: ApiFixture[] = [];
const fixture = async (...options: Parameters<typeof createApiFixture>) => {
  const api = await createApiFixture(...options);
  open.push(api);
  return api;
};
afterEach(async () => {
  for (const api of open.splice(0)) await api.close();
});

test.each([
  ['/api/status', 'GET', undefined],
  ['/api/nothing', 'GET', undefined],
  ['/api/user/login', 'POST', '{"a":'],
  ['/api/user/login', 'POST', `"${'x'.repeat(1024 * 1024)}"`],
])('%s %s carries the request id and forbids everything else', async (path, method, body) => {
  const api = await fixture();
  const { headers, status } = await api.send(method, path, body);
  expect(headers.get('x-oneapi-request-id')).toBe('req');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('x-powered-by')).toBeNull();
  if (path === '/api/nothing') expect(status).toBe(404);
});

test.each(['/api/status', '/api/status/', '/api/notice/', '/api/setup/'])('%s is found', async (path) => {
  const api = await fixture();
  expect((await api.send('GET', path)).body.success).toBe(true);
});

test.each([
  ['en-US,en;q=0.9', 'Not logged in and no access token given'],
  ['fr, en;q=0.8, zh;q=0.5', 'Not logged in and no access token given'],
  ['zh-CN,zh;q=0.9,en;q=0.8', '无权进行此操作，未登录且未提供 access token'],
  ['en;q=0.1, zh', '无权进行此操作，未登录且未提供 access token'],
  ['fr', '无权进行此操作，未登录且未提供 access token'],
])('a caller who prefers %s reads its language', async (language, message) => {
  const api = await fixture();
  expect((await api.send('GET', '/api/user/self', undefined, { 'accept-language': language })).body.message).toBe(
    message,
  );
});

test('a caller who names no language reads the one that the user saved', async () => {
  const api = await fixture();
  const { headers } = await api.addUser('one', 1);
  const refusal = async (named: Record<string, string>) =>
    (await api.send('GET', '/api/user/', undefined, { ...headers, ...named })).body.message;
  const [english, chinese] = ['You do not have permission to do this', '权限不足'];
  expect(await refusal({ 'accept-language': '*' })).toContain(chinese);
  await api.send('PUT', '/api/user/setting', { language: 'en' }, headers);
  expect(await refusal({ 'accept-language': '*' })).toBe(english);
  // The console names the language it is read in.
  expect(await refusal({ 'accept-language': 'zh' })).toContain(chinese);
});

test('over TLS the cookie is bound to host and transport', async () => {
  const api = await fixture();
  await api.addUser('one', 1);
  const login = async (headers: Record<string, string>) =>
    (await api.send('POST', '/api/user/login', { username: 'one', password: 'password1' }, headers)).headers.get(
      'set-cookie',
    ) ?? '';
  const plain = await login({});
  expect(plain).toMatch(/^session=[\w-]{43};.*HttpOnly; SameSite=Lax$/);
  expect(plain).not.toContain('Secure');
  const secure = await login({ origin: 'https://gw.example', 'sec-fetch-site': 'same-origin' });
  expect(secure).toMatch(/^__Host-session=[\w-]{43};.*Path=\/;.*HttpOnly; Secure; SameSite=Lax$/);
  const self = await api.send('GET', '/api/user/self', undefined, {
    cookie: secure.split(';')[0] ?? '',
    'new-api-user': String((await api.gateway.services.users.findByLogin('one'))?.id),
  });
  expect(self.body.success).toBe(true);
});

test('logging in again ends the session the browser had', async () => {
  const api = await fixture();
  const { headers } = await api.addUser('one', 1);
  await api.send('POST', '/api/user/login', { username: 'one', password: 'password1' }, headers);
  expect((await api.send('GET', '/api/user/self', undefined, headers)).status).toBe(401);
});

test('a session rests as a hash', async () => {
  const api = await fixture();
  const { headers } = await api.addUser('one', 1);
  const id = headers.cookie?.split('=')[1] ?? '';
  const stored = JSON.stringify(await api.gateway.rows('SELECT * FROM sessions'));
  expect(id).not.toBe('');
  expect(stored).not.toContain(id);
});

test('without Sec-Fetch-Site the origin must be ours', async () => {
  const api = await fixture();
  const { headers } = await api.addUser('one', 1);
  const { 'sec-fetch-site': _dropped, ...old } = headers;
  const put = async (extra: Record<string, string>) =>
    (await api.send('PUT', '/api/user/self', { display_name: 'x' }, { ...old, ...extra })).body;
  expect(await put({ origin: 'https://evil.example' })).toMatchObject({ code: 'cross_site' });
  expect(await put({ origin: 'null' })).toMatchObject({ code: 'cross_site' });
  for (const before of ['evil@', ':evil@', 'http:evil@'])
    expect(await put({ origin: api.base.replace('//', `//${before}`) })).toMatchObject({ code: 'cross_site' });
  expect(await put({ origin: api.base })).toMatchObject({ success: true });
  expect(await put({ origin: 'https://gw.example' })).toMatchObject({ code: 'cross_site' });
  await api.gateway.option('ServerAddress', 'https://gw.example');
  expect(await put({ origin: 'https://gw.example' })).toMatchObject({ success: true });
});

test('two set-ups at once make one administrator; a broken one is taken up again', async () => {
  const api = await fixture();
  const { rows } = api.gateway;
  await rows('DELETE FROM users');
  const run = (username: string) =>
    api.gateway.call('setup.run', { username, password: 'password1', confirmPassword: 'password1' });
  const results = await Promise.allSettled([run('one'), run('two')]);
  expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(await rows('SELECT id FROM users')).toHaveLength(1);
  const quota = async () => (await api.gateway.services.users.firstWithRole(100))?.balance;
  expect(await quota()).toBe(100_000_000);
  await rows("DELETE FROM meta WHERE key = 'setup_at'");
  await api.gateway.call('setup.run', {});
  expect(await quota()).toBe(100_000_000);
  expect(await api.gateway.services.setup.isDone()).toBe(true);
});

test('the relay hears of a change before the caller does', async () => {
  const order: string[] = [];
  const api = await fixture({
    changed: async () => {
      await Bun.sleep(20);
      order.push('published');
    },
  });
  const { headers } = await api.addUser('one', 1);
  order.length = 0;
  await api.send('GET', '/api/user/self', undefined, headers);
  await api.send('POST', '/api/token/', { name: 't', unlimited_quota: true }, headers);
  order.push('answered');
  expect(order).toEqual(['published', 'answered']);
});

test('the owner of the data directory may act as a user, with that user’s rights', async () => {
  const api = await fixture({ listener: 'local' });
  const id = await api.gateway.services.users.create({
    username: 'plain',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 0,
  });
  for (const name of ['plain', String(id)]) {
    const headers = { 'x-gateway-as-user': name };
    expect((await api.send('GET', '/api/user/self', undefined, headers)).body.data).toMatchObject({ id });
    expect((await api.send('GET', '/api/user/', undefined, headers)).body.code).toBe('role_too_low');
    expect((await api.send('GET', '/api/local/ledger/verify', undefined, headers)).body.code).toBe('local_only');
  }
  expect((await api.send('GET', '/api/user/self', undefined, { 'x-gateway-as-user': 'nobody' })).body.code).toBe(
    'not_found',
  );
  expect((await api.send('GET', '/api/user/')).body.success).toBe(true);
});

test('the network listener knows no such headers', async () => {
  const api = await fixture();
  expect((await api.send('GET', '/api/user/self', undefined, { 'x-gateway-as-user': 'tester' })).status).toBe(401);
});

test('a banned user still reads public pages and can log out', async () => {
  const api = await fixture();
  const { id, headers } = await api.addUser('one', 1);
  await api.gateway.rows('UPDATE users SET status = 2 WHERE id = ?', id);
  expect((await api.send('GET', '/api/status', undefined, headers)).body.success).toBe(true);
  expect((await api.send('GET', '/api/user/logout', undefined, headers)).body.success).toBe(true);
  expect(await api.gateway.rows('SELECT user_id FROM sessions')).toEqual([]);
});
