/** Base addresses that clients get wrong: with the version twice, or without it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { relayRoutes } from '../../server/relay/intake/routes.ts';
import { createSite, type Site, sendRaw } from '../support/site.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let site: Site;
let upstream: Upstream;
let key: string;
beforeAll(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  site = await createSite();
  await site.gateway.channel(upstream.url);
  key = (await site.gateway.token()).key;
});
afterAll(async () => {
  await site.close();
  await upstream.stop();
});

const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  fetch(site.url + path, {
    method,
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const messages = [{ role: 'user', content: 'hi' }];

test.each([
  ['/v1/v1/chat/completions', { model: 'gpt-4o-mini', messages }],
  ['/chat/completions', { model: 'gpt-4o-mini', messages }],
  ['/chat/completions/', { model: 'gpt-4o-mini', messages }],
  ['/v1/v1/messages', { model: 'gpt-4o-mini', max_tokens: 9, messages }],
  ['/messages', { model: 'gpt-4o-mini', max_tokens: 9, messages }],
  ['/v1/v1/responses', { model: 'gpt-4o-mini', input: 'hi' }],
  ['/responses', { model: 'gpt-4o-mini', input: 'hi' }],
  ['/v1/v1beta/models/gpt-4o-mini:generateContent', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
  ['/v1beta/v1beta/models/gpt-4o-mini:generateContent', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
  ['/v1/v1/messages/count_tokens', { model: 'gpt-4o-mini', messages }],
])('POST %s is forgiven', async (path, body) => {
  expect((await ask('POST', path, body)).status).toBe(200);
});

test.each(['/v1/v1/models', '/v1/v1/models/gpt-4o-mini', '/models', '/models/', '/models/gpt-4o-mini'])(
  'GET %s is a list of models, or one of them, whatever is accepted',
  async (path) => {
    for (const accept of ['*/*', 'application/json', 'text/html'])
      expect((await ask('GET', path, undefined, { accept })).headers.get('content-type')).toContain('application/json');
    expect((await ask('GET', path)).status).toBe(200);
  },
);

test('HEAD of a list of models is its GET without a body', async () => {
  for (const path of ['/v1/models', '/models', '/v1beta/models']) {
    const { status, body } = await ask('HEAD', path);
    expect([path, status, body]).toEqual([path, 200, null]);
  }
});

test('errors keep the dialect, and a call that is read is refused in JSON', async () => {
  const rejected = await ask('POST', '/messages', { model: 'none', max_tokens: 9, messages });
  expect(await rejected.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  for (const path of ['/chat/completions', '/completions', '/v1/chat/completions'])
    for (const accept of ['*/*', 'text/html']) {
      const read = await ask('GET', path, undefined, { accept });
      expect([path, read.status, read.headers.get('content-type')]).toEqual([
        path,
        405,
        expect.stringContaining('application/json'),
      ]);
    }
  expect((await ask('POST', '/v1/v1/v1/messages', {})).status).toBe(404);
});

test('a socket without the version in its address is the one with it', async () => {
  const upgrade = async (path: string) => {
    const headers = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' };
    const {
      status,
      headers: sent,
      body,
    } = await sendRaw(
      site.port,
      [`GET ${path}?model=none HTTP/1.1`, 'Host: gw.example', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
        .concat(Object.entries(headers).map(([name, value]) => `${name}: ${value}`))
        .concat(`Authorization: Bearer sk-${key}`),
    );
    return [status, sent.includes('application/json'), body.includes('none')];
  };
  expect(await upgrade('/realtime')).toEqual(await upgrade('/v1/realtime'));
  expect((await upgrade('/realtime'))[0]).toBe(404);
});

test('every path of one segment that is forgiven is one of the relay', () => {
  const known = new Set(relayRoutes.map(({ path }) => path));
  for (const path of ['/chat/completions', '/messages', '/responses', '/responses/compact', '/audio/speech'])
    expect(known.has(`/v1${path}`)).toBe(true);
});
