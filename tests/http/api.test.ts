import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { isMutation } from '../../server/http/invoke.ts';
import { type ApiFixture, createApiFixture } from '../support/api.ts';
import { contentOf } from '../support/engines.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let api: ApiFixture;
let gateway: TestGateway;
let send: ApiFixture['send'];
let addUser: ApiFixture['addUser'];

beforeEach(async () => {
  api = await createApiFixture();
  ({ gateway, send, addUser } = api);
});
afterEach(() => api.close());

test('changes by cookie need the user id and a same-origin proof', async () => {
  const { headers } = await addUser('plain', 1);
  for (const row of (endpoints as readonly Endpoint[]).filter((one) => isMutation(one) && one.access === 'user')) {
    const path = row.path.replace(/:\w+/, '1');
    const body = row.method === 'DELETE' || row.method === 'GET' ? undefined : {};
    const foreign = await send(row.method, path, body, {
      ...headers,
      'sec-fetch-site': 'cross-site',
    });
    expect([row.id, foreign.body.code]).toEqual([row.id, 'cross_site']);
    const anonymousId = await send(row.method, path, body, {
      cookie: headers.cookie ?? '',
      'sec-fetch-site': 'same-origin',
    });
    expect([row.id, anonymousId.status, anonymousId.body.code]).toEqual([row.id, 401, 'user_header_missing']);
  }
  expect((await send('GET', '/api/user/self', undefined, { ...headers, 'new-api-user': '1' })).body.code).toBe(
    'user_header_mismatch',
  );
  expect((await send('GET', '/api/user/self', undefined, { ...headers, 'new-api-user': 'x' })).body.code).toBe(
    'user_header_malformed',
  );
});

test('a failure names its facts beside the message, and none where there are none', async () => {
  expect((await send('GET', '/api/user/self')).body).not.toHaveProperty('params');
  const { headers } = await addUser('plain', 1);
  const { body } = await send('GET', '/api/token/999', undefined, headers);
  expect(body).toMatchObject({ success: false, params: { what: expect.stringContaining('999') } });
});

test('the messages are the specification’s, in both languages', async () => {
  expect((await send('POST', '/api/user/login', { username: '', password: '' })).body.message).toBe('用户名或密码为空');
  expect((await send('POST', '/api/user/login', { username: 'tester', password: 'wrong' })).body).toMatchObject({
    success: false,
    message: '用户名或密码错误，或用户已被封禁',
  });
  expect((await send('POST', '/api/user/login', { username: 'nobody', password: 'wrong' })).body.message).toBe(
    '用户名或密码错误，或用户已被封禁',
  );
  expect((await send('GET', '/api/user/self', undefined, { 'accept-language': 'en' })).body.message).toBe(
    'Not logged in and no access token given',
  );
  expect((await send('GET', '/api/nothing')).status).toBe(404);
  expect((await send('PUT', '/api/status')).status).toBe(405);
  expect((await send('POST', '/api/user/login', '{"a":')).body.code).toBe('body_not_json');
});

test('set-up runs once, with the rules and words of the specification', async () => {
  const fresh = await createTestGateway();
  await fresh.rows('DELETE FROM users');
  const set = (body: Record<string, unknown>) => fresh.call('setup.run', body);
  await expect(set({ username: ' ', password: 'password1', confirmPassword: 'password1' })).rejects.toMatchObject({
    code: 'setup_username',
  });
  for (const short of ['short', '1234567'])
    await expect(set({ username: 'root', password: short, confirmPassword: short })).rejects.toMatchObject({
      code: 'setup_password_short',
    });
  await expect(set({ username: 'root', password: 'password1', confirmPassword: 'password2' })).rejects.toMatchObject({
    code: 'setup_password_mismatch',
  });
  await set({ username: 'root', password: '12345678', confirmPassword: '12345678', SelfUseModeEnabled: true });
  await expect(set({})).rejects.toMatchObject({ code: 'setup_done' });
  expect(await fresh.call('status.get', {})).toMatchObject({
    setup: true,
    self_use_mode_enabled: true,
    system_name: 'New API',
    quota_per_unit: 500_000,
  });
  await fresh.close();
});

test('over the network set-up needs the printed code', async () => {
  const details = { username: 'r', password: 'password1', confirmPassword: 'password1' };
  expect((await send('POST', '/api/setup', details)).body.code).toBe('setup_code_required');
  expect((await send('POST', '/api/setup', { ...details, code: 'wrong' })).body.code).toBe('setup_code_required');
  expect((await send('POST', '/api/setup', { ...details, code: 'code' })).body.success).toBe(true);
});

test('tokens belong to their owner', async () => {
  const one = await addUser('one', 1);
  const two = await addUser('two', 1);
  const made = await send('POST', '/api/token/', { name: 'mine', remain_quota: 100 }, one.headers);
  const { id, key } = made.body.data as { id: number; key: string };
  expect(key).toMatch(/^[A-Za-z0-9]{48}$/);
  expect((await send('GET', `/api/token/${id}`, undefined, one.headers)).body.success).toBe(true);
  for (const [method, path, body] of [
    ['GET', `/api/token/${id}`, undefined],
    ['PUT', '/api/token/', { id, name: 'stolen' }],
    ['DELETE', `/api/token/${id}`, undefined],
  ] as const) {
    expect((await send(method, path, body, two.headers)).body).toMatchObject({ success: false, code: 'not_found' });
  }
  expect((await send('GET', '/api/token/', undefined, two.headers)).body.data).toEqual([]);
  expect((await send('GET', `/api/token/search?token=${key}`, undefined, two.headers)).body.data).toEqual([]);
  expect((await send('GET', '/api/token/?p=NaN&size=undefined', undefined, one.headers)).body.data).toHaveLength(1);
});

test('token rules', async () => {
  const { headers } = await addUser('one', 1);
  const create = async (body: Record<string, unknown>) => (await send('POST', '/api/token/', body, headers)).body;
  expect(await create({ name: 'x'.repeat(51) })).toMatchObject({ message: '令牌名称过长' });
  expect(await create({ name: 'x', expired_time: 0 })).toMatchObject({ message: '过期时间格式错误！' });
  expect(await create({ name: 'x', expired_time: 1000 })).toMatchObject({ message: '过期时间已经过去' });
  for (const wrong of [
    { remain_quota: -5 },
    { day_budget: -1 },
    { rpm_limit: 1e15 },
    { allow_ips: '10.0.0.1\n203.0.113.300' },
    { allow_ips: 'localhost' },
    { allow_ips: '127.0.0.0/33' },
  ])
    expect(await create({ name: 'x', ...wrong }), JSON.stringify(wrong)).toMatchObject({ success: false });
  const made = (await create({ name: 'x' })).data as { id: number };
  const expired = (await send('PUT', '/api/token/', { id: made.id, expired_time: 1000 }, headers)).body.data as {
    id: number;
    status: number;
  };
  expect(expired.status).toBe(3);
  expect(
    (await send('PUT', '/api/token/?status_only=true', { id: expired.id, status: 1 }, headers)).body.message,
  ).toContain('令牌已过期');
  expect((await send('PUT', '/api/token/', { id: expired.id }, headers)).body).toMatchObject({
    success: true,
    data: { name: 'x' },
  });
  const empty = (await create({ name: 'x', remain_quota: 0 })).data as { id: number; status: number };
  expect(empty.status).toBe(4);
  expect((await send('PUT', '/api/token/', { id: empty.id, remain_quota: 5 }, headers)).body.data).toMatchObject({
    remain_quota: 5,
    status: 1,
    name: 'x',
  });
});

test('channel rules, and keys never come back', async () => {
  const { headers } = await addUser('admin', 10);
  const create = async (body: Record<string, unknown>) => (await send('POST', '/api/channel/', body, headers)).body;
  expect(await create({ type: 1, name: '', key: '' })).toMatchObject({ message: '请填写渠道名称和渠道密钥！' });
  expect(await create({ type: 1, name: 'a', key: 'k' })).toMatchObject({ message: '请至少选择一个模型！' });
  expect(await create({ type: 1, name: 'a', key: 'k', models: 'm', model_mapping: 'no' })).toMatchObject({
    message: '模型映射必须是合法的 JSON 格式！',
  });
  const made = await create({
    type: 1,
    name: 'a',
    key: 'sk-canary-one-1234567\nsk-canary-two-1234567',
    models: ['m', 'm', 'n'],
    base_url: 'http://x/',
  });
  expect(made.data).toMatchObject([{ name: 'a_1', models: 'm,n', base_url: 'http://x', key: '' }, { name: 'a_2' }]);
  const shown = JSON.stringify([
    made,
    await send('GET', '/api/channel/', undefined, headers),
    await send('GET', '/api/channel/1', undefined, headers),
  ]);
  expect(shown).not.toContain('canary');
  expect(await contentOf(gateway.database)).not.toContain('canary');
  expect((await send('PUT', '/api/channel/', { id: 1, status: 2 }, headers)).body.data).toMatchObject({
    id: 1,
    status: 2,
    models: 'm,n',
  });
});

test('options are checked, secrets stay inside, and some rows are the super administrator’s', async () => {
  const admin = await addUser('admin', 10);
  const root = await addUser('root', 100);
  const put = async (key: string, value: unknown, headers: Record<string, string>) =>
    (await send('PUT', '/api/option/', { key, value }, headers)).body;
  expect(await put('RetryTimes', '3', admin.headers)).toMatchObject({ success: true });
  expect(await put('RetryTimes', 'many', admin.headers)).toMatchObject({ code: 'option_invalid' });
  expect(await put('ModelRatio', '{"a": "b"}', admin.headers)).toMatchObject({ code: 'option_invalid' });
  expect(await put('GroupRatio', '{"default": -1}', admin.headers)).toMatchObject({ code: 'option_invalid' });
  expect(await put('NoSuchKey', '1', admin.headers)).toMatchObject({ code: 'option_unknown' });
  expect(await put('SMTPToken', 'secret-canary', admin.headers)).toMatchObject({ code: 'option_root_only' });
  expect(await put('SMTPToken', 'secret-canary', root.headers)).toMatchObject({ success: true });
  expect(await put('GitHubOAuthEnabled', true, root.headers)).toMatchObject({ code: 'option_needs' });
  expect(await put('PayAddress', 'https://pay.example/', root.headers)).toMatchObject({ success: true });
  const listed = await send('GET', '/api/option/', undefined, root.headers);
  expect(JSON.stringify(listed)).not.toContain('canary');
  expect(listed.body.data).toContainEqual({ key: 'PayAddress', value: 'https://pay.example' });
  expect(listed.body.data).toContainEqual({ key: 'RetryTimes', value: '3' });
  const [kept] = await gateway.rows<{ value: string }>("SELECT value FROM options WHERE key = 'SMTPToken'");
  expect(kept?.value).toBeDefined();
  expect(kept?.value).not.toContain('canary');
});

test('a demo site refuses writes, even the administrator’s', async () => {
  const { headers } = await addUser('root', 100);
  await gateway.call('setup.run', { DemoSiteEnabled: true });
  expect(await send('POST', '/api/token/', { name: 'x' }, headers)).toMatchObject({
    status: 405,
    body: { code: 'demo_readonly' },
  });
  expect((await send('GET', '/api/token/', undefined, headers)).body.success).toBe(true);
});

test('a ban ends the session at once', async () => {
  const { id, headers } = await addUser('one', 1);
  await gateway.rows('UPDATE users SET status = 2 WHERE id = ?', id);
  expect((await send('GET', '/api/user/self', undefined, headers)).body).toMatchObject({
    success: false,
    message: '用户已被封禁',
  });
});

test('an access token stands for its user', async () => {
  const { headers, id } = await addUser('one', 1);
  const { data } = (await send('POST', '/api/user/token', {}, headers)).body;
  expect(
    (await send('GET', '/api/user/self', undefined, { authorization: String(data), 'new-api-user': String(id) })).body
      .data,
  ).toMatchObject({ username: 'one' });
  expect((await send('GET', '/api/user/self', undefined, { authorization: 'wrong' })).body.code).toBe(
    'access_token_invalid',
  );
});
