import { createHash, createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers as HeaderFields } from '../support/api.ts';

let api: ApiFixture;
let root: HeaderFields;
let clock: number;
/** Answers of other services by address; `calls` keeps what they were asked. */
let services: Record<string, (init: RequestInit) => object>;
let calls: { url: string; init: RequestInit }[];
let real: boolean;

const set = async (key: string, value: string) => {
  const { body } = await api.send('PUT', '/api/option/', { key, value }, root);
  expect([key, body.success]).toEqual([key, true]);
};

beforeEach(async () => {
  clock = Date.now();
  calls = [];
  services = {};
  real = false;
  const carrier = (async (url: string, init: RequestInit = {}) => {
    if (real) return fetch(url, init);
    calls.push({ url, init });
    const answer = services[url.split('?')[0] ?? ''];
    if (answer === undefined) throw new Error(`nobody at ${url}`);
    return Response.json(answer(init));
  }) as typeof fetch;
  api = await createApiFixture({}, { now: () => clock, fetch: carrier, guardedFetch: carrier });
  ({ headers: root } = await api.addUser('root', 100));
  await set('ServerAddress', 'https://site.example');
  await set('GitHubClientId', 'the-client');
  await set('GitHubClientSecret', 'the-secret');
  await set('GitHubOAuthEnabled', 'true');
  services['https://github.com/login/oauth/access_token'] = () => ({ access_token: 'token' });
  services['https://api.github.com/user'] = () => ({ id: 583_231, login: 'octocat', name: 'The Octocat' });
});
afterEach(() => api.close());

const headerOf = (call: number, name: string): string | null => new Headers(calls[call]?.init.headers).get(name);

/** What a browser does: asks for a state, keeps the cookie, comes back with the code. */
async function goThrough(
  type: string,
  options: { as?: HeaderFields; code?: string; aff?: string; cookie?: boolean } = {},
) {
  const asked = await api.send('GET', `/api/oauth/state?aff=${options.aff ?? ''}`, undefined, options.as);
  const cookie = asked.headers.get('set-cookie')?.split(';')[0] ?? '';
  const own = options.as?.cookie === undefined ? [] : [options.as.cookie];
  return api.send('GET', `/api/oauth/${type}?code=${options.code ?? 'c0de'}&state=${asked.body.data}`, undefined, {
    ...options.as,
    cookie: [...own, ...(options.cookie === false ? [] : [cookie])].join('; '),
  });
}

test('the first way in registers, the second logs the same person in', async () => {
  await set('QuotaForNewUser', '500');
  const inviter = await api.addUser('inviter', 1);
  const aff = String((await api.send('GET', '/api/user/aff', undefined, inviter.headers)).body.data);
  const first = await goThrough('github', { aff });
  expect(first.body.data).toMatchObject({
    username: 'octocat',
    github_id: '583231',
    quota: 500,
    inviter_id: inviter.id,
  });
  expect(first.headers.get('set-cookie')).toContain('session=');
  const second = await goThrough('github');
  expect((second.body.data as { id: number }).id).toBe((first.body.data as { id: number }).id);
  const body = new URLSearchParams(String(calls[0]?.init.body));
  expect(Object.fromEntries(body)).toEqual({
    grant_type: 'authorization_code',
    code: 'c0de',
    client_id: 'the-client',
    client_secret: 'the-secret',
  });
  expect(headerOf(1, 'authorization')).toBe('Bearer token');
});

test('a taken or unusable name becomes another one', async () => {
  await api.addUser('octocat', 1);
  expect((await goThrough('github')).body.data).toMatchObject({ username: expect.stringMatching(/^github_\d+$/) });
});

test('whoever is logged in binds, and nobody takes what is bound', async () => {
  const person = await api.addUser('person', 1);
  const other = await api.addUser('other', 1);
  const bound = await goThrough('github', { as: person.headers });
  expect(bound.body).toMatchObject({ success: true, message: 'bind' });
  const { data } = (await api.send('GET', '/api/user/self', undefined, person.headers)).body;
  expect(data).toMatchObject({ github_id: '583231' });
  expect((await goThrough('github', { as: other.headers })).body.message).toBe('该 GitHub 账户已被绑定');
  expect((await goThrough('github')).body.data).toMatchObject({ id: person.id });
});

test('a state belongs to the browser that asked for it, is used once, and for ten minutes', async () => {
  expect(await goThrough('github', { cookie: false })).toMatchObject({
    status: 403,
    body: { message: 'state 为空或不匹配，请重新登录' },
  });
  const asked = await api.send('GET', '/api/oauth/state');
  const cookie = asked.headers.get('set-cookie')?.split(';')[0] ?? '';
  const back = () => api.send('GET', `/api/oauth/github?code=c&state=${asked.body.data}`, undefined, { cookie });
  expect((await back()).body.success).toBe(true);
  expect((await back()).status).toBe(403);
  const late = await api.send('GET', '/api/oauth/state');
  clock += 10 * 60_000;
  const after = await api.send('GET', `/api/oauth/github?code=c&state=${late.body.data}`, undefined, {
    cookie: late.headers.get('set-cookie')?.split(';')[0] ?? '',
  });
  expect(after.status).toBe(403);
  expect((await api.send('GET', '/api/oauth/github?code=c&state=')).status).toBe(403);
});

test.each([
  ['管理员关闭了新用户注册', async () => set('RegisterEnabled', 'false')],
  ['管理员未开启通过 GitHub 登录以及注册', async () => set('GitHubOAuthEnabled', 'false')],
  [
    '无法连接至 GitHub 服务器，请稍后重试！',
    async () => void delete services['https://github.com/login/oauth/access_token'],
  ],
  [
    '无法连接至 GitHub 服务器，请稍后重试！',
    async () => {
      services['https://github.com/login/oauth/access_token'] = () => ({ error: 'bad_verification_code' });
    },
  ],
])('%s', async (message, arrange) => {
  await arrange();
  expect((await goThrough('github')).body).toMatchObject({ success: false, message });
});

test('a banned or closed account stays outside', async () => {
  const first = await goThrough('github');
  const { id } = first.body.data as { id: number };
  await api.send('POST', '/api/user/manage', { id, action: 'disable' }, root);
  expect((await goThrough('github')).body.success).toBe(false);
  await api.send('POST', '/api/user/manage', { id, action: 'delete' }, root);
  expect((await goThrough('github')).body.message).toBe('用户已注销');
});

test('what the service refuses is told in its words', async () => {
  const { body } = await api.send('GET', '/api/oauth/linuxdo?error=access_denied&error_description=You%20said%20no');
  expect(body).toMatchObject({ success: false, message: 'You said no' });
});

test('Linux DO names its client by Basic authentication', async () => {
  await set('LinuxDOClientId', 'id');
  await set('LinuxDOClientSecret', 'secret');
  await set('LinuxDOOAuthEnabled', 'true');
  services['https://connect.linux.do/oauth2/token'] = () => ({ access_token: 't' });
  services['https://connect.linux.do/api/user'] = () => ({ id: 77, username: 'neo', name: 'Neo' });
  expect((await goThrough('linuxdo')).body.data).toMatchObject({ username: 'neo', linux_do_id: '77' });
  expect(headerOf(0, 'authorization')).toBe(`Basic ${btoa('id:secret')}`);
  expect(String(calls[0]?.init.body)).toContain('redirect_uri=https%3A%2F%2Fsite.example%2Foauth%2Flinuxdo');
});

test('WeChat goes by the code its bridge gives', async () => {
  await set('WeChatServerAddress', 'https://bridge.example');
  await set('WeChatServerToken', 'bridge-token');
  await set('WeChatAuthEnabled', 'true');
  services['https://bridge.example/api/wechat/user'] = () => ({ success: true, data: 'wx-1' });
  const { headers, id } = await api.addUser('person', 1);
  expect((await api.send('GET', '/api/oauth/wechat/bind?code=a%26b', undefined, headers)).body.success).toBe(true);
  expect(calls[0]?.url).toBe('https://bridge.example/api/wechat/user?code=a%26b');
  expect((await api.send('GET', '/api/oauth/wechat?code=123')).body.data).toMatchObject({ id, wechat_id: 'wx-1' });
  services['https://bridge.example/api/wechat/user'] = () => ({ success: false });
  expect((await api.send('GET', '/api/oauth/wechat?code=1')).body.message).toBe('验证码错误或已过期');
});

const widget = (token: string, fields: Record<string, string>): string => {
  const lines = Object.keys(fields)
    .sort()
    .map((key) => `${key}=${fields[key]}`)
    .join('\n');
  const hash = createHmac('sha256', createHash('sha256').update(token).digest()).update(lines).digest('hex');
  return new URLSearchParams({ ...fields, hash }).toString();
};

test('Telegram’s signature is checked, and its date', async () => {
  await set('TelegramBotToken', '123:token');
  await set('TelegramOAuthEnabled', 'true');
  const now = String(Math.floor(clock / 1000));
  const fields = { id: '4711', first_name: 'Ann', username: 'ann', auth_date: now };
  const { headers, id } = await api.addUser('person', 1);
  const login = async (query: string) => (await api.send('GET', `/api/oauth/telegram/login?${query}&lang=zh`)).body;
  expect((await login(widget('123:token', fields))).message).toBe('该 Telegram 账户未绑定');
  const bind = await api.send('GET', `/api/oauth/telegram/bind?${widget('123:token', fields)}`, undefined, headers);
  expect(bind.body.success).toBe(true);
  expect((await login(widget('123:token', fields))).data).toMatchObject({ id });
  for (const query of [
    widget('123:other', fields),
    widget('123:token', { ...fields, auth_date: String(Number(now) - 601) }),
    widget('123:token', fields).replace('4711', '4712'),
    widget('123:token', fields).replace(/hash=\w+/, 'hash='),
    '',
  ])
    expect((await login(query)).message).toBe('无效的请求');
});

test('OIDC against a real provider: discovery, code, token, profile', async () => {
  real = true;
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'gateway',
        client_secret: 'oidc-secret',
        redirect_uris: ['https://site.example/oauth/oidc'],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
    pkce: { required: () => false },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, preferred_username: 'ann', name: 'Ann', email: 'ann@idp.example', email_verified: true }),
    }),
    features: { devInteractions: { enabled: true } },
  });
  server.on('request', provider.callback());
  try {
    const wellKnown = `${issuer}/.well-known/openid-configuration`;
    const found = await api.send('POST', '/api/option/oidc_discovery', { url: wellKnown }, root);
    const endpoints = found.body.data as Record<string, string>;
    expect(endpoints.token_endpoint).toBe(`${issuer}/token`);
    await set('oidc.client_id', 'gateway');
    await set('oidc.client_secret', 'oidc-secret');
    await set('oidc.enabled', 'true');
    for (const [key, value] of Object.entries(endpoints)) await set(`oidc.${key}`, value);

    const asked = await api.send('GET', '/api/oauth/state');
    const state = String(asked.body.data);
    const code = await loginAtProvider(
      `${endpoints.authorization_endpoint}?${new URLSearchParams({
        client_id: 'gateway',
        redirect_uri: 'https://site.example/oauth/oidc',
        response_type: 'code',
        scope: 'openid profile email',
        state,
      })}`,
    );
    const { body } = await api.send('GET', `/api/oauth/oidc?code=${code}&state=${state}`, undefined, {
      cookie: asked.headers.get('set-cookie')?.split(';')[0] ?? '',
    });
    expect(body.data).toMatchObject({ username: 'ann', oidc_id: 'ann-sub', email: 'ann@idp.example' });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

/** Walks through the provider's own pages as a person would: redirects, a login form, a consent form. */
async function loginAtProvider(start: string): Promise<string> {
  const jar = new Map<string, string>();
  let url = start;
  let init: RequestInit = {};
  for (let step = 0; step < 15; step++) {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: {
        ...(init.headers as Record<string, string>),
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';');
      const at = pair.indexOf('=');
      jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const location = response.headers.get('location');
    if (location?.startsWith('https://site.example/')) return new URL(location).searchParams.get('code') ?? '';
    init = {};
    if (location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    const page = await response.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
    if (action === undefined) throw new Error(`no form at ${url}: ${page.slice(0, 200)}`);
    url = new URL(action, url).href;
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? 'login';
    init = {
      method: 'POST',
      body: new URLSearchParams({ prompt, login: 'ann-sub', password: 'x' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
  }
  throw new Error('the provider never sent us back');
}

test('discovery that fails says what to look at', async () => {
  const { body } = await api.send('POST', '/api/option/oidc_discovery', { url: 'https://nowhere.example' }, root);
  expect(body.message).toBe('获取 OIDC 配置失败，请检查网络状况和 Well-Known URL 是否正确');
});
