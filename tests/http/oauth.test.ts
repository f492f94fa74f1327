import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Provider } from 'oidc-provider';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../db/migrate.ts';
import { createGuard } from '../../server/outbound/guard.ts';
import { type ApiFixture, createApiFixture, type Headers as HeaderFields } from '../support/api.ts';
import { openOld } from '../support/old-schema.ts';

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
  const requested = await api.send('GET', `/api/oauth/state?aff=${options.aff ?? ''}`, undefined, options.as);
  const cookie = requested.headers.get('set-cookie')?.split(';')[0] ?? '';
  const own = options.as?.cookie === undefined ? [] : [options.as.cookie];
  return api.send('GET', `/api/oauth/${type}?code=${options.code ?? 'c0de'}&state=${requested.body.data}`, undefined, {
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

test('a logged-in user binds an identity, and no other account can take it', async () => {
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
    body: { message: '登录会话已失效，请重新登录' },
  });
  const requested = await api.send('GET', '/api/oauth/state');
  const cookie = requested.headers.get('set-cookie')?.split(';')[0] ?? '';
  const back = () => api.send('GET', `/api/oauth/github?code=c&state=${requested.body.data}`, undefined, { cookie });
  expect((await back()).body.success).toBe(true);
  expect((await back()).status).toBe(403);
  const state = await api.send('GET', '/api/oauth/state');
  clock += 10 * 60_000;
  const after = await api.send('GET', `/api/oauth/github?code=c&state=${state.body.data}`, undefined, {
    cookie: state.headers.get('set-cookie')?.split(';')[0] ?? '',
  });
  expect(after.status).toBe(403);
  expect((await api.send('GET', '/api/oauth/github?code=c&state=')).status).toBe(403);
});

test('a state of another login is refused, although the browser has asked for one of its own', async () => {
  const [mine, another] = [await api.send('GET', '/api/oauth/state'), await api.send('GET', '/api/oauth/state')];
  const cookie = mine.headers.get('set-cookie')?.split(';')[0] ?? '';
  const back = (state: string) => api.send('GET', `/api/oauth/github?code=c&state=${state}`, undefined, { cookie });
  for (const state of [String(another.body.data), 'x'.repeat(String(mine.body.data).length), ''])
    expect((await back(state)).status).toBe(403);
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

test('a refusal of the service is shown in its words', async () => {
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
  delete services['https://bridge.example/api/wechat/user'];
  expect((await api.send('GET', '/api/oauth/wechat?code=1')).body).toMatchObject({
    code: 'oauth_unreachable',
    message: expect.stringContaining('微信'),
  });
});

const widget = (token: string, fields: Record<string, string>): string => {
  const lines = Object.keys(fields)
    .sort()
    .map((key) => `${key}=${fields[key]}`)
    .join('\n');
  const hash = createHmac('sha256', createHash('sha256').update(token).digest()).update(lines).digest('hex');
  return new URLSearchParams({ ...fields, hash }).toString();
};

const telegram = { id: '4711', first_name: 'Ann', username: 'ann' };
const signed = (fields: Record<string, string> = {}) =>
  widget('123:token', { ...telegram, auth_date: String(Math.floor(clock / 1000)), ...fields });

/** Leaves for Telegram as our console does. @returns what the browser brings back besides the signed fields. */
async function leaveForTelegram(as: HeaderFields = {}) {
  const started = await api.send('POST', '/api/oauth/begin', { type: 'telegram' }, as);
  const { url } = started.body.data as { url: string };
  const back = new URL(new URL(url).searchParams.get('return_to') ?? '');
  const cookie = started.headers.get('set-cookie')?.split(';')[0] ?? '';
  return {
    back,
    state: back.searchParams.get('state') ?? '',
    headers: { ...as, cookie: [as.cookie, cookie].filter(Boolean).join('; ') },
  };
}

async function withTelegram() {
  await set('TelegramBotToken', '123:token');
  await set('TelegramOAuthEnabled', 'true');
}
const telegramBind = async (query: string, headers: HeaderFields) =>
  (await api.send('GET', `/api/oauth/telegram/bind?${query}`, undefined, headers)).body;
const telegramLogin = async (query: string, headers: HeaderFields = {}) =>
  (await api.send('GET', `/api/oauth/telegram/login?${query}&lang=zh`, undefined, headers)).body;

test('Telegram’s signature is checked, and its date', async () => {
  await withTelegram();
  const { headers, id } = await api.addUser('person', 1);
  expect((await telegramLogin(signed())).message).toBe('该 Telegram 账户未绑定');
  const journey = await leaveForTelegram(headers);
  expect(journey.back.href).toContain('https://site.example/oauth/telegram?state=');
  expect(await telegramBind(`${signed()}&state=${journey.state}`, journey.headers)).toMatchObject({ success: true });
  clock += 1000;
  expect((await telegramLogin(signed())).data).toMatchObject({ id });
  const now = Math.floor(clock / 1000);
  for (const query of [
    widget('123:other', { ...telegram, auth_date: String(now) }),
    signed({ auth_date: String(now - 121) }),
    signed().replace('4711', '4712'),
    signed().replace(/hash=\w+/, 'hash='),
    '',
  ])
    expect((await telegramLogin(query)).message).toBe('无效的请求');
});

test('a Telegram link opens once', async () => {
  await withTelegram();
  const { headers, id } = await api.addUser('person', 1);
  const journey = await leaveForTelegram(headers);
  await telegramBind(`${signed()}&state=${journey.state}`, journey.headers);
  clock += 1000;
  const link = signed();
  const answers = await Promise.all([telegramLogin(link), telegramLogin(link), telegramLogin(link)]);
  expect(answers.filter(({ success }) => success)).toHaveLength(1);
  clock += 100_000;
  expect((await telegramLogin(link)).message).toBe('无效的请求');
  expect(
    (await telegramLogin(link.replace(/hash=(\w+)/, (_all, hash: string) => `hash=${hash.toUpperCase()}`))).message,
  ).toBe('无效的请求');
  expect((await telegramLogin(signed())).data).toMatchObject({ id });
});

test('a Telegram link of another person binds nothing to the user who follows it', async () => {
  await withTelegram();
  const victim = await api.addUser('victim', 1);
  const mine = await leaveForTelegram();
  for (const [query, headers] of [
    [`${signed()}&state=${mine.state}`, victim.headers],
    // The victim's own way there, begun as somebody else.
    [
      `${signed()}&state=${mine.state}`,
      { ...victim.headers, cookie: `${victim.headers.cookie}; ${mine.headers.cookie}` },
    ],
  ] as const)
    expect(await telegramBind(query, headers)).toMatchObject({ success: false, code: 'oauth_state' });
  const { 'new-api-user': _, ...followed } = victim.headers;
  expect(await telegramBind(signed(), followed)).toMatchObject({ success: false, code: 'user_header_missing' });
  expect((await telegramLogin(`${signed()}&state=made-up`)).code).toBe('oauth_state');
});

test('the widget of another console binds with the documented fields, right after a login', async () => {
  await withTelegram();
  const { headers, id } = await api.addUser('person', 1);
  expect(await telegramBind(`${signed()}&lang=zh`, headers)).toMatchObject({ success: true });
  clock += 1000;
  expect((await telegramLogin(signed())).data).toMatchObject({ id });
  const other = await api.addUser('other', 1);
  clock += 15 * 60_000;
  expect(await telegramBind(signed({ id: '4713' }), other.headers)).toMatchObject({ code: 'login_again_needed' });
});

interface Person {
  readonly sub: string;
  readonly email: string;
  readonly verified?: boolean;
}

/** A real provider on a loopback port; what it is told to insist on, it refuses to do without. */
async function openProvider(person: () => Person, strict: boolean) {
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
    pkce: { required: () => strict },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({
        sub,
        preferred_username: 'ann',
        name: 'Ann',
        email: person().email,
        email_verified: person().verified ?? true,
      }),
    }),
    features: { devInteractions: { enabled: true } },
  });
  server.on('request', provider.callback());
  const found = await api.send(
    'POST',
    '/api/option/oidc_discovery',
    { url: `${issuer}/.well-known/openid-configuration` },
    root,
  );
  const endpoints = found.body.data as Record<string, string>;
  return {
    issuer,
    endpoints,
    async use() {
      await set('oidc.client_id', 'gateway');
      await set('oidc.client_secret', 'oidc-secret');
      await set('oidc.enabled', 'true');
      for (const [key, value] of Object.entries(endpoints)) await set(`oidc.${key}`, value);
    },
    /** As our console: the server says where to go. */
    async leave(as: HeaderFields = {}) {
      const started = await api.send('POST', '/api/oauth/begin', { type: 'oidc' }, as);
      const { url } = started.body.data as { url: string };
      const cookie = started.headers.get('set-cookie')?.split(';')[0] ?? '';
      return { url, state: new URL(url).searchParams.get('state') ?? '', cookie };
    },
    async signIn(as: HeaderFields = {}) {
      const { url, state, cookie } = await this.leave(as);
      const code = await loginAtProvider(url, person().sub);
      return this.comeBack(code, state, cookie, as);
    },
    async comeBack(code: string, state: string, cookie: string, as: HeaderFields = {}) {
      return (
        await api.send('GET', `/api/oauth/oidc?code=${code}&state=${state}`, undefined, {
          ...as,
          cookie: [as.cookie, cookie].filter(Boolean).join('; '),
        })
      ).body;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const issuerOf = (id: number) =>
  api.gateway.database.query
    .selectFrom('users')
    .select(['oidc_issuer', 'email'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

test('OIDC against a real provider: discovery, code, token, profile, for consoles that build the address themselves', async () => {
  real = true;
  const provider = await openProvider(() => ({ sub: 'ann-sub', email: 'ann@idp.example' }), false);
  try {
    expect(provider.endpoints.token_endpoint).toBe(`${provider.issuer}/token`);
    await provider.use();
    const requested = await api.send('GET', '/api/oauth/state');
    const state = String(requested.body.data);
    const code = await loginAtProvider(
      `${provider.endpoints.authorization_endpoint}?${new URLSearchParams({
        client_id: 'gateway',
        redirect_uri: 'https://site.example/oauth/oidc',
        response_type: 'code',
        scope: 'openid profile email',
        state,
      })}`,
      'ann-sub',
    );
    const cookie = requested.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await provider.comeBack(code, state, cookie)).data).toMatchObject({
      username: 'ann',
      oidc_id: 'ann-sub',
      email: 'ann@idp.example',
    });
  } finally {
    provider.close();
  }
});

test('a provider that insists on PKCE is content, and a code serves only the browser that left for it', async () => {
  real = true;
  const provider = await openProvider(() => ({ sub: 'ann-sub', email: 'ann@idp.example' }), true);
  try {
    await provider.use();
    const { url } = await provider.leave();
    const requested = new URL(url).searchParams;
    expect(requested.get('code_challenge_method')).toBe('S256');
    expect(requested.get('code_challenge')).toMatch(/^[\w-]{43}$/);
    expect(requested.get('nonce')).toMatch(/^[\w-]{32}$/);
    expect(requested.get('redirect_uri')).toBe('https://site.example/oauth/oidc');
    // Two browsers; one brings the code of the other.
    const [mine, theirs] = [await provider.leave(), await provider.leave()];
    const stolen = await loginAtProvider(theirs.url, 'ann-sub');
    expect(await provider.comeBack(stolen, mine.state, mine.cookie)).toMatchObject({ code: 'oauth_unreachable' });
    const entered = await provider.signIn();
    expect(entered.data).toMatchObject({ username: 'ann', oidc_id: 'ann-sub', email: 'ann@idp.example' });
    const { id } = entered.data as { id: number };
    expect(await issuerOf(id)).toEqual({ oidc_issuer: provider.issuer, email: 'ann@idp.example' });
    expect((await provider.signIn()).data).toMatchObject({ id });
  } finally {
    provider.close();
  }
});

test('the same subject of another issuer is another person; early bindings find their issuer', async () => {
  real = true;
  const person = { sub: 'ann-sub', email: 'ann@idp.example' };
  const first = await openProvider(() => person, true);
  const second = await openProvider(() => person, true);
  try {
    await first.use();
    const { id } = (await first.signIn()).data as { id: number };
    await second.use();
    expect((await second.signIn()).data).not.toMatchObject({ id });

    const bind = (name: string, endpoint: string) =>
      api.gateway.database.query
        .updateTable('users')
        .set({ oidc_id: 'early-sub', oidc_issuer: `endpoint:${endpoint}` })
        .where('username', '=', name)
        .execute();
    const early = await api.addUser('early', 1);
    await bind('early', `${first.issuer}/token`);
    person.sub = 'early-sub';
    expect((await second.signIn()).data).not.toMatchObject({ id: early.id });
    await first.use();
    expect((await first.signIn()).data).toMatchObject({ id: early.id });
    expect((await issuerOf(early.id)).oidc_issuer).toBe(first.issuer);
  } finally {
    first.close();
    second.close();
  }
});

test('the rules for addresses and registration hold for people of other services too', async () => {
  real = true;
  const person: { sub: string; email: string; verified: boolean } = {
    sub: 'sub-1',
    email: 'ann@elsewhere.example',
    verified: true,
  };
  const provider = await openProvider(() => person, true);
  try {
    await provider.use();
    await set('EmailDomainWhitelist', 'idp.example');
    await set('EmailDomainRestrictionEnabled', 'true');
    expect(await provider.signIn()).toMatchObject({ code: 'email_domain' });
    person.verified = false;
    expect(await provider.signIn()).toMatchObject({ code: 'email_unproven' });
    Object.assign(person, { email: 'ann@idp.example', verified: true });
    await set('RegisterEnabled', 'false');
    expect(await provider.signIn()).toMatchObject({ code: 'register_closed' });
    await set('RegisterEnabled', 'true');
    const entered = (await provider.signIn()).data as { id: number };
    expect(entered).toMatchObject({ email: 'ann@idp.example' });
    // An account that had no address keeps the one its service has verified.
    await api.gateway.database.query.updateTable('users').set({ email: '' }).where('id', '=', entered.id).execute();
    expect((await provider.signIn()).data).toMatchObject({ id: entered.id });
    expect((await issuerOf(entered.id)).email).toBe('ann@idp.example');
  } finally {
    provider.close();
  }
  real = false;
  expect((await goThrough('github')).body).toMatchObject({ code: 'email_unproven' });
  services['https://api.github.com/user/emails'] = () =>
    [
      { email: 'other@idp.example', primary: false, verified: true },
      { email: 'octo@idp.example', primary: true, verified: true },
    ] as object;
  expect((await goThrough('github')).body.data).toMatchObject({ email: 'octo@idp.example' });
});

test.each([
  ['another nonce', { nonce: 'other' }],
  ['no nonce', { nonce: undefined }],
  ['another client', { aud: 'somebody' }],
  ['another party', { azp: 'somebody' }],
  ['another issuer', { iss: 'https://evil.example' }],
  ['no issuer', { iss: undefined }],
  ['an end in the past', { exp: 1 }],
  ['another subject', { sub: 'somebody' }],
])('an ID token with %s opens nothing', async (_what, change) => {
  const idp = 'https://idp.example';
  for (const [key, value] of Object.entries({
    'oidc.client_id': 'gateway',
    'oidc.enabled': 'true',
    'oidc.issuer': idp,
    'oidc.authorization_endpoint': `${idp}/auth`,
    'oidc.token_endpoint': `${idp}/token`,
    'oidc.user_info_endpoint': `${idp}/me`,
  }))
    await set(key, value);
  const enter = async (wrong: object) => {
    const started = await api.send('POST', '/api/oauth/begin', { type: 'oidc' });
    const url = new URL((started.body.data as { url: string }).url);
    const claims = {
      iss: idp,
      aud: 'gateway',
      sub: 's',
      exp: clock / 1000 + 60,
      nonce: url.searchParams.get('nonce'),
      ...wrong,
    };
    const token = ['{}', JSON.stringify(claims), ''].map((part) => Buffer.from(part).toString('base64url')).join('.');
    services[`${idp}/token`] = () => ({ access_token: 't', id_token: token });
    services[`${idp}/me`] = () => ({ sub: 's', preferred_username: 'ann' });
    return (
      await api.send('GET', `/api/oauth/oidc?code=c&state=${url.searchParams.get('state')}`, undefined, {
        cookie: started.headers.get('set-cookie')?.split(';')[0] ?? '',
      })
    ).body;
  };
  expect(await enter(change)).toMatchObject({ code: 'oauth_unreachable' });
  expect(await enter({})).toMatchObject({ success: true });
});

test('GitHub gets a challenge, and the verifier with the code', async () => {
  const started = await api.send('POST', '/api/oauth/begin', { type: 'github' });
  const url = new URL((started.body.data as { url: string }).url);
  expect(`${url.origin}${url.pathname}`).toBe('https://github.com/login/oauth/authorize');
  await api.send('GET', `/api/oauth/github?code=c&state=${url.searchParams.get('state')}`, undefined, {
    cookie: started.headers.get('set-cookie')?.split(';')[0] ?? '',
  });
  const verifier = new URLSearchParams(String(calls[0]?.init.body)).get('code_verifier') ?? '';
  expect(createHash('sha256').update(verifier).digest('base64url')).toBe(url.searchParams.get('code_challenge'));
});

test('binding takes a login of a moment ago, by the person who left for it', async () => {
  const person = await api.addUser('person', 1);
  const other = await api.addUser('other', 1);
  const requested = await api.send('GET', '/api/oauth/state', undefined, person.headers);
  const cookie = requested.headers.get('set-cookie')?.split(';')[0] ?? '';
  const back = (as: HeaderFields) =>
    api.send('GET', `/api/oauth/github?code=c&state=${requested.body.data}`, undefined, {
      ...as,
      cookie: `${as.cookie}; ${cookie}`,
    });
  expect((await back(other.headers)).body.code).toBe('oauth_state');
  clock += 15 * 60_000;
  expect((await goThrough('github', { as: person.headers })).body.code).toBe('login_again_needed');
  const again = await api.login('person', 'password1');
  expect((await goThrough('github', { as: again })).body).toMatchObject({ message: 'bind' });
  // Whoever comes back with what is bound already has logged in anew.
  clock += 15 * 60_000;
  const anew = await goThrough('github', { as: again });
  expect(anew.body.data).toMatchObject({ id: person.id });
  expect(anew.headers.get('set-cookie')).toContain('session=');
});

test('bindings from before issuers were asked for are marked with where their codes were exchanged', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-migrate-'));
  const database = openOld(join(dir, 'gateway.db'), '0003-live-tokens');
  try {
    database.raw.exec(`
      INSERT INTO options VALUES ('oidc.token_endpoint', 'https://idp.example/token', 1);
      INSERT INTO users (username, password_hash, oidc_id, created_at) VALUES ('bound', '', 's', 1), ('free', '', '', 1)`);
    await migrate(database);
    expect(database.raw.prepare('SELECT username, oidc_issuer FROM users ORDER BY id').all()).toEqual([
      { username: 'bound', oidc_issuer: 'endpoint:https://idp.example/token' },
      { username: 'free', oidc_issuer: '' },
    ]);
  } finally {
    await database.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

/** Walks through the provider's own pages as a person would: redirects, a login form, a consent form. */
async function loginAtProvider(start: string, sub: string): Promise<string> {
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
      body: new URLSearchParams({ prompt, login: sub, password: 'x' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
  }
  throw new Error('the provider never sent us back');
}

test('discovery that fails says what to look at', async () => {
  const { body } = await api.send('POST', '/api/option/oidc_discovery', { url: 'https://nowhere.example' }, root);
  expect(body.message).toBe('获取 OIDC 配置失败，请检查网络状况和 Well-Known URL 是否正确');
});

test('discovery at an address that is not public says that this is why', async () => {
  const guarded = await createApiFixture({}, { guardedFetch: createGuard({ schemes: ['https:'] }) });
  try {
    const boss = await guarded.login('tester', 'password1');
    for (const url of [
      'https://127.0.0.1/.well-known/openid-configuration',
      'https://10.1.2.3/x',
      'http://id.example/x',
    ]) {
      const { body } = await guarded.send('POST', '/api/option/oidc_discovery', { url }, boss);
      expect(body).toMatchObject({ success: false, code: 'address_forbidden' });
      expect(body.message).toContain('公网');
    }
  } finally {
    await guarded.close();
  }
});
