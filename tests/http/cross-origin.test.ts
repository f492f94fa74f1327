/** Pages of other origins: the relay is theirs with a key, the rest of the site is not. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { relaySegments } from '../../server/relay/intake/routes.ts';
import { createSite, type Site } from '../support/site.ts';
import { completion, sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

const chunk = {
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

let site: Site;
let upstream: Upstream;
let key: string;
let isOverloaded = false;
beforeAll(async () => {
  site = await createSite({ relay: { isOverloaded: () => isOverloaded } });
  upstream = await startUpstream((response, { body }) => {
    if (JSON.parse(String(body)).stream === true)
      return void sendStream(response, [Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)]);
    sendJson(response, completion(10, 5));
  });
  await site.gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  ({ key } = await site.gateway.token({ unlimited_quota: true }));
});
afterAll(async () => {
  await upstream.stop();
  await site.close();
});
beforeEach(() => {
  isOverloaded = false;
});

const page = { origin: 'https://chat.example' };
const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${site.url}${path}`, { ...init, headers: { ...page, ...init.headers } });
const chat = (headers: object, body: object = {}) =>
  ask('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer sk-${key}`, ...headers },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], ...body }),
  });
const preflight = (path: string, names: string) =>
  ask(path, {
    method: 'OPTIONS',
    headers: { 'access-control-request-method': 'POST', 'access-control-request-headers': names },
  });
/** What a browser looks at before it lets a page read an answer. */
const opened = ({ headers }: Response) => [
  headers.get('access-control-allow-origin'),
  headers.get('access-control-expose-headers'),
  headers.get('access-control-allow-credentials'),
];
const open = ['*', '*', null];
const shut = [null, null, null];

test.each([
  '/v1/chat/completions',
  '/v1/messages',
  '/v1beta/models/gpt-4o-mini:generateContent',
  '/v1/models',
  '/mj/submit/imagine',
  '/suno/fetch',
  '/chat/completions',
])('a browser that asks before %s may send what SDKs send', async (path) => {
  const names = 'authorization,content-type,x-api-key,x-stainless-os,anthropic-dangerous-direct-browser-access';
  const answer = await preflight(path, names);
  expect([answer.status, await answer.text()]).toEqual([204, '']);
  expect(opened(answer)).toEqual(open);
  expect(answer.headers.get('access-control-allow-headers')).toBe(names);
  expect(answer.headers.get('access-control-allow-methods')?.split(', ')).toContain('POST');
});

test('names that are none are not given back', async () => {
  for (const names of ['a b', 'x<script>', ',', ''])
    expect((await preflight('/v1/models', names)).headers.get('access-control-allow-headers')).toBe(
      'authorization, content-type',
    );
});

test('answers, streams and every kind of refusal can be read', async () => {
  const [whole, streamed] = [await chat({}), await chat({}, { stream: true })];
  expect([whole.status, streamed.status]).toEqual([200, 200]);
  expect(await streamed.text()).toContain('data: ');
  const refusals = [
    await chat({ authorization: 'Bearer sk-nobody' }),
    await chat({}, { model: 'nobody-has-it' }),
    await ask('/v1/nowhere'),
    await ask('/v1/models', { method: 'OPTIONS' }),
  ];
  isOverloaded = true;
  refusals.push(await chat({}));
  expect(refusals.map(({ status }) => status)).toEqual([401, 404, 404, 405, 503]);
  for (const answer of [whole, streamed, ...refusals]) {
    expect([answer.status, ...opened(answer)]).toEqual([answer.status, ...open]);
    expect(answer.headers.get('x-oneapi-request-id')).not.toBeNull();
  }
});

test('a cookie opens only this site’s own pages', async () => {
  for (const path of [
    '/api/status',
    '/api/user/self',
    '/api/log/token',
    '/pg/chat/completions',
    '/',
    '/healthz',
    '/nowhere',
  ]) {
    expect([path, ...opened(await ask(path))]).toEqual([path, ...shut]);
    const requested = await preflight(path, 'authorization');
    expect([path, requested.status === 204, ...opened(requested)]).toEqual([path, false, ...shut]);
  }
  expect(relaySegments).toContain('pg');
});

test('a client that is no web page gets none of these headers', async () => {
  const { headers } = await fetch(`${site.url}/v1/models`, { headers: { authorization: `Bearer sk-${key}` } });
  expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  const plain = await fetch(`${site.url}/v1/models`, { method: 'OPTIONS' });
  expect(plain.status).toBe(405);
});
