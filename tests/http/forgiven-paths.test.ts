/** Base addresses that clients get wrong: with the version twice, or without it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { relayRoutes } from '../../server/relay/intake/routes.ts';
import { createSite, type Site } from '../support/site.ts';
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

const ask = (method: string, path: string, body?: unknown) =>
  fetch(site.url + path, {
    method,
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
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

test('lists, too', async () => {
  for (const path of ['/v1/v1/models', '/v1/v1/models/gpt-4o-mini']) expect((await ask('GET', path)).status).toBe(200);
});

test('errors keep the dialect, and pages stay pages', async () => {
  const rejected = await ask('POST', '/messages', { model: 'none', max_tokens: 9, messages });
  expect(await rejected.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  const page = await ask('GET', '/chat/completions');
  expect(page.headers.get('content-type')).toContain('text/html');
  expect((await ask('POST', '/v1/v1/v1/messages', {})).status).toBe(404);
});

test('every path of one segment that is forgiven is one of the relay', () => {
  const known = new Set(relayRoutes.map(({ path }) => path));
  for (const path of ['/chat/completions', '/messages', '/responses', '/responses/compact', '/audio/speech'])
    expect(known.has(`/v1${path}`)).toBe(true);
});
