/** A site under a path beside others, as a proxy in front of it serves it: with the path, or taken off by the proxy. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseBasePath, withoutBasePath } from '../../server/http/base-path.ts';
import { createConsoleAssets } from '../../server/http/console-assets.ts';
import { createSite, type Site } from '../support/site.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

describe('the setting', () => {
  test.each([
    ['/ai', '/ai'],
    ['/ai/', '/ai'],
    [' /tools/ai-1.0_x~y ', '/tools/ai-1.0_x~y'],
    ['', ''],
    ['/', ''],
  ])('a base path given as %j is %j', (input, path) => expect(parseBasePath(input)).toBe(path));

  test.each([
    'ai',
    '//ai',
    '/ai//x',
    '/a b',
    '/ai?x',
    '/ai#x',
    '/ai/..',
    '/.',
    '/%61',
    '/ai"x',
    'https://example.com/ai',
  ])('%j is refused as a base path', (input) =>
    expect(() => parseBasePath(input)).toThrow(expect.objectContaining({ code: 'usage' })),
  );

  // Requests without the path are served too, so these would have two meanings.
  test.each(['/v1', '/api', '/API/x', '/docs', '/assets', '/token', '/oauth', '/healthz', '/.well-known'])(
    '%s is an address of the gateway',
    (input) => expect(() => parseBasePath(input)).toThrow(expect.objectContaining({ code: 'usage' })),
  );
});

test.each([
  ['http://h/ai/v1/models?x=/ai', 'http://h/v1/models?x=/ai'],
  ['http://h/ai/ai/x', 'http://h/ai/x'],
  ['http://h/ai', 'http://h/'],
  ['http://h/ai?x', 'http://h/?x'],
  ['http://h/ai/', 'http://h/'],
  ['http://h/aix/v1', 'http://h/aix/v1'],
  ['http://h/v1/ai/', 'http://h/v1/ai/'],
  ['http://ai/ai/v1', 'http://ai/v1'],
  ['http://ai/v1', 'http://ai/v1'],
  ['http://h', 'http://h'],
  ['/ai/readyz', '/readyz'],
  ['/AI/x', '/AI/x'],
  ['http://h/ai//x', 'http://h//x'],
])('%s asks for %s below the base path', (url, inside) => expect(withoutBasePath(url, '/ai')).toBe(inside));

let site: Site;
let upstream: Upstream;
let key: string;
beforeAll(async () => {
  const message = { role: 'assistant', content: 'hello' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  upstream = await startUpstream((response) =>
    sendJson(response, { id: 'x', object: 'chat.completion', choices: [{ index: 0, message }], usage }),
  );
  site = await createSite({ basePath: '/ai' });
  await site.gateway.channel(upstream.url, { models: 'm' });
  await site.gateway.option('SelfUseModeEnabled', 'true');
  key = `sk-${(await site.gateway.token()).key}`;
});
afterAll(async () => {
  await site.close();
  await upstream.stop();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(site.url + path, { redirect: 'manual', headers });

describe.each(['/ai', ''])('asked as %j', (prefix) => {
  test('the API answers', async () => {
    expect(await (await get(`${prefix}/api/status`)).json()).toMatchObject({ success: true });
  });

  test('a model answers, and one in whole for a path that names it', async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const ask = async (path: string, body: object) =>
      (await fetch(site.url + prefix + path, { method: 'POST', headers, body: JSON.stringify(body) })).text();
    const text = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    expect(await ask('/v1/chat/completions', text)).toContain('hello');
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    expect(await ask('/v1beta/models/m:generateContent?alt=json', { contents })).toContain('hello');
    expect(await ask('/v1beta/models/m:streamGenerateContent?alt=sse', { contents })).toMatch(/^data: /);
  });

  test('a program hears of a wrong key in its own words', async () => {
    const response = await get(`${prefix}/v1/models`, { authorization: 'Bearer sk-wrong' });
    expect(response.status).toBe(401);
    expect(await response.json()).toHaveProperty('error.message');
  });

  test('monitors learn whether it serves', async () => {
    expect((await get(`${prefix}/readyz`)).status).toBe(200);
    expect((await get(`${prefix}/healthz`)).status).toBe(200);
  });

  test('pages, deep ones too, name files under the path', async () => {
    for (const path of ['/', '/token', '/channel/edit/7?x=1']) {
      const page = await (await get(prefix + path, { accept: 'text/html' })).text();
      expect(page).toContain('<meta name="base-path" content="/ai" />');
      expect(page).toContain('href="/ai/logo.svg"');
      expect(page).not.toMatch(/(?:href|src)="\/(?!ai\/)/);
    }
  });

  test('an unknown address is none', async () => {
    expect((await get(`${prefix}/v1beta9/x`)).status).toBe(404);
  });
});

test('the path without its slash leads to the page, so that its links are not its neighbours', async () => {
  const response = await get('/ai');
  expect([response.status, response.headers.get('location')]).toEqual([308, '/ai/']);
  expect((await get('/ai?x=1')).status).toBe(308);
});

test('another path is not ours, however alike', async () => {
  expect((await get('/aix/api/status')).status).toBe(404);
  expect((await get('/ai/ai/api/status')).status).toBe(404);
});

describe('cookies are for the path alone', () => {
  const login = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${site.url}${path}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ username: 'tester', password: 'password1' }),
    });
    const { success, data } = (await response.json()) as { success: boolean; data: { id: number } };
    expect(success).toBe(true);
    return { id: data.id, cookies: response.headers.getSetCookie() };
  };
  const self = async (cookies: readonly string[], id: number) =>
    (
      (await (
        await get('/ai/api/user/self', {
          cookie: cookies.map((text) => text.split(';')[0]).join('; '),
          'new-api-user': String(id),
        })
      ).json()) as { success: boolean }
    ).success;

  test.each(['/ai', ''])('without TLS, asked as %j', async (path) => {
    const { id, cookies } = await login(path);
    for (const text of cookies) expect(text).toMatch(/^(?:session|device)=.*; Path=\/ai;/);
    expect(await self(cookies, id)).toBe(true);
  });

  test('over TLS under a name that a path may have', async () => {
    const { host } = new URL(site.url);
    const { id, cookies } = await login('/ai', { origin: `https://${host}`, 'sec-fetch-site': 'same-origin' });
    expect(cookies.length).toBeGreaterThan(0);
    for (const text of cookies) expect(text).toMatch(/^__Secure-(?:session|device)=.*; Path=\/ai;.*; Secure/);
    expect(await self(cookies, id)).toBe(true);
    // One for the whole host is another application's.
    expect(
      await self(
        cookies.map((text) => text.replace('__Secure-', '__Host-')),
        id,
      ),
    ).toBe(false);
  });

  test('the way out takes them away where they were set', async () => {
    const { id, cookies } = await login('/ai');
    const response = await get('/ai/api/user/logout', {
      cookie: cookies.map((text) => text.split(';')[0]).join('; '),
      'new-api-user': String(id),
    });
    for (const text of response.headers.getSetCookie()) expect(text).toMatch(/Path=\/ai;/);
    expect(response.headers.getSetCookie().length).toBeGreaterThan(0);
  });
});

test('the documentation leads to itself under the path', async () => {
  const response = await get('/ai/docs', { 'accept-language': 'zh' });
  expect([response.status, response.headers.get('location')]).toEqual([302, '/ai/docs/zh']);
});

test('the description of the API names the path', async () => {
  const { servers } = (await (await get('/ai/api/openapi.json')).json()) as { servers: readonly { url: string }[] };
  expect(servers).toEqual([{ url: `${site.url}/ai` }]);
});

describe('programs that sign in', () => {
  beforeAll(() => site.gateway.option('agents.sign_in', 'true'));
  const metadata = async () =>
    (await (await get('/ai/.well-known/oauth-authorization-server')).json()) as Record<string, unknown>;

  test('learn addresses under the path', async () => {
    expect(await metadata()).toMatchObject({ issuer: `${site.url}/ai`, token_endpoint: `${site.url}/ai/oauth/token` });
  });

  test('are sent to the page under the path, approved there, and served there', async () => {
    const json = { 'content-type': 'application/json' };
    const login = await fetch(`${site.url}/ai/api/user/login`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ username: 'tester', password: 'password1' }),
    });
    const { data } = (await login.json()) as { data: { id: number } };
    const cookie = login.headers
      .getSetCookie()
      .map((text) => text.split(';')[0])
      .join('; ');
    const post = async (path: string, form: Record<string, string>) =>
      (await (await fetch(`${site.url}${path}`, { method: 'POST', body: new URLSearchParams(form) })).json()) as Record<
        string,
        string
      >;
    const begun = await post('/ai/oauth/device_authorization', { client_id: 'gateway', host: 'laptop' });
    expect(begun.verification_uri).toBe(`${site.url}/ai/device`);
    expect(begun.verification_uri_complete).toBe(`${site.url}/ai/device?user_code=${begun.user_code}`);
    const decided = await fetch(`${site.url}/ai/api/device/decide`, {
      method: 'POST',
      headers: { ...json, cookie, 'new-api-user': String(data.id), 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ code: begun.user_code, approve: true }),
    });
    expect(await decided.json()).toMatchObject({ success: true });
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const issued = await post('/ai/oauth/token', { grant_type, device_code: begun.device_code ?? '' });
    const authorization = `Bearer ${issued.access_token}`;
    expect((await get('/ai/v1/models', { authorization })).status).toBe(200);
    expect((await get('/ai/managed/settings', { authorization })).status).toBe(200);

    const request = {
      ...{ client_id: 'codex', redirect_uri: 'http://127.0.0.1:1455/callback', response_type: 'code', state: 'st' },
      ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' },
    };
    const sent = await get(`/ai/oauth/authorize?${new URLSearchParams(request)}`);
    const page = new URL(sent.headers.get('location') ?? '');
    expect([sent.status, page.origin + page.pathname]).toEqual([302, `${site.url}/ai/device`]);
    expect((await get(`${page.pathname}${page.search}`, { accept: 'text/html' })).status).toBe(200);
  });

  test('the site’s own page may ask, by its origin, which has no path', async () => {
    await site.gateway.option('ServerAddress', 'https://example.com/ai');
    const ask = (origin: string) => get('/ai/.well-known/oauth-authorization-server', { origin });
    expect((await ask('https://example.com')).status).toBe(200);
    expect((await ask('https://other.example')).status).toBe(403);
    expect(await metadata()).toMatchObject({ issuer: 'https://example.com/ai' });
  });
});

test('a site without a path has none in its pages', async () => {
  const assets = createConsoleAssets(() => ({ botCheck: false, payAddress: '' }), '', [
    { path: '/index.html', plain: `${import.meta.dirname}/../../web/index.html`, brotli: null },
  ]);
  const page = await assets(new Request('http://h/', { headers: { accept: 'text/html' } }), '/')?.text();
  expect(page).not.toContain('base-path');
  expect(page).toContain('href="/logo.svg"');
});
