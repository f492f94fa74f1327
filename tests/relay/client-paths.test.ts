/** Addresses under which clients of other hosts look for the same calls, what agents say of themselves, and upstreams with too much to do. */
import { GoogleGenAI } from '@google/genai';
import OpenAI, { AzureOpenAI } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { HttpServer } from '../../server/http/http-server.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { forgivenPath, isUnimplemented, relayRouteFor } from '../../server/relay/intake/routes.ts';
import { openRelayDoor } from '../support/door.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let door: HttpServer;
let key: string;
const embedding = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 1, total_tokens: 1 },
};
const fallback: Parameters<Upstream['script']>[0] = (response, { path }) =>
  sendJson(response, path.includes('embeddings') ? embedding : completion(3, 2));

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(fallback);
  await gateway.channel(upstream.url, { type: 1, models: 'gpt-4o,gpt-4.1,text-embedding-3-small' });
  await gateway.channel(upstream.url, { type: 14, models: 'claude' });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = `sk-${(await gateway.token()).key}`;
  door = openRelayDoor(gateway.relay);
});
afterAll(async () => {
  await door.stop(10);
  await gateway.close();
  await upstream.stop();
});
beforeEach(() => upstream.script(fallback));

/** With the prices that are shipped, where others pay. */
async function freshSite() {
  const fresh = await createTestGateway();
  const own = (await fresh.token()).key;
  return { gateway: fresh, post: (path: string, body: object) => fresh.send(own, path, body) };
}

const base = () => `http://127.0.0.1:${door.port}`;
const messages = [{ role: 'user' as const, content: 'hi' }];

test("OpenAI's client at Google's address for it", async () => {
  const client = new OpenAI({ apiKey: key, baseURL: `${base()}/v1beta/openai/`, maxRetries: 0 });
  const answer = await client.chat.completions.create({ model: 'gpt-4o', messages });
  expect(answer.choices[0]?.message.content).toBe('hello world');
  expect((await client.models.list()).data.map(({ id }) => id)).toContain('gpt-4o');
  expect(upstream.requests.at(-1)?.path).toBe('/v1/chat/completions');
  const rejected = client.chat.completions.create({ model: 'nobody-has-it', messages });
  await expect(rejected).rejects.toThrow(/nobody-has-it/);
});

test("Azure's client, deployments with dots and all", async () => {
  const client = new AzureOpenAI({ apiKey: key, endpoint: base(), apiVersion: '2024-12-01-preview', maxRetries: 0 });
  const answer = await client.chat.completions.create({ model: 'gpt-4.1', messages });
  expect(answer.choices[0]?.message.content).toBe('hello world');
  expect(JSON.parse(upstream.requests.at(-1)?.body.toString('utf8') ?? '{}').model).toBe('gpt-4.1');
  const { data } = await client.embeddings.create({
    model: 'text-embedding-3-small',
    input: 'x',
    encoding_format: 'float',
  });
  expect(data[0]?.embedding).toEqual([0.5]);
  expect((await gateway.logs())[0]).toMatchObject({ model_name: 'text-embedding-3-small' });
});

test('moderation without a model is what OpenAI takes for it, and free where nobody priced it', async () => {
  const { gateway: fresh, post } = await freshSite();
  const models = String(providerBySlug('openai')?.models.join(','));
  await fresh.channel(upstream.url, { type: 1, models });
  upstream.script((response) => sendJson(response, { id: 'modr', model: 'omni-moderation-latest', results: [{}] }));
  const answer = await post('/v1/moderations', { input: 'hi' });
  expect(answer.status).toBe(200);
  await answer.text();
  expect(JSON.parse(String(upstream.requests.at(-1)?.body))).toMatchObject({ input: 'hi' });
  expect((await fresh.logs())[0]).toMatchObject({ model_name: 'omni-moderation-latest', quota: 0 });
  await fresh.close();
});

test('a deployment is the model, whatever the body says or leaves out', async () => {
  const ask = (body: object) =>
    fetch(`${base()}/openai/deployments/gpt-4.1/chat/completions?api-version=2024-12-01-preview`, {
      method: 'POST',
      headers: { 'api-key': key },
      body: JSON.stringify(body),
    });
  for (const body of [{ messages }, { model: 'gpt-4o', messages }]) {
    expect((await ask(body)).status).toBe(200);
    expect(JSON.parse(upstream.requests.at(-1)?.body.toString('utf8') ?? '{}').model).toBe('gpt-4.1');
    expect((await gateway.logs())[0]).toMatchObject({ model_name: 'gpt-4.1' });
  }
  expect((await ask({ messages })).status).toBe(200);
  const noop = await fetch(`${base()}/openai/deployments/gpt-4.1/chat/completions`, { method: 'POST', body: '{}' });
  expect(noop.status).toBe(401);
});

test("Azure's undated address", async () => {
  const client = new OpenAI({ apiKey: key, baseURL: `${base()}/openai/v1/`, maxRetries: 0 });
  expect((await client.chat.completions.create({ model: 'gpt-4o', messages })).choices).toHaveLength(1);
});

test('a Live socket of Gemini is refused; no page opens it', async () => {
  const path = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';
  const socket = await fetch(`${base()}${path}?key=${key}`, {
    headers: { upgrade: 'websocket', connection: 'upgrade' },
  });
  expect(socket.status).toBe(404);
  expect(socket.headers.get('content-type')).toContain('json');
  const ai = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: base() } });
  const answer = await new Promise<string>((resolve) => {
    ai.live
      .connect({
        model: 'gemini-live',
        callbacks: {
          onopen: () => resolve('open'),
          onmessage: () => undefined,
          onerror: () => resolve('error'),
          onclose: () => resolve('closed'),
        },
      })
      .catch(() => resolve('error'));
  });
  expect(answer).not.toBe('open');
});

test("a page of Anthropic's list of models is as long as its query says", async () => {
  const page = async (query: string) => {
    const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
    const { data, has_more } = (await (await fetch(`${base()}/v1/models${query}`, { headers })).json()) as {
      data: { id: string }[];
      has_more: boolean;
    };
    return [data.map(({ id }) => id), has_more];
  };
  expect(await page('')).toEqual([['claude', 'gpt-4.1', 'gpt-4o', 'text-embedding-3-small'], false]);
  expect(await page('?limit=1&after_id=claude')).toEqual([['gpt-4.1'], true]);
});

const anthropic = (headers: Record<string, string> = {}) =>
  fetch(`${base()}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, ...headers },
    body: JSON.stringify({ model: 'claude', max_tokens: 5, messages }),
  });

test('headers that name the user and the session reach the upstream, those of our own library do not', async () => {
  const session = '860ade1d-24b6-428f-ac42-1e585dafb63d';
  await anthropic({
    'user-agent': 'claude-cli/2.1.329 (external, cli)',
    'x-claude-code-session-id': session,
    'x-app': 'cli',
  });
  expect(upstream.requests.at(-1)?.headers).toMatchObject({
    'user-agent': 'claude-cli/2.1.329 (external, cli)',
    'x-claude-code-session-id': session,
    'x-app': 'cli',
  });
  await fetch(`${base()}/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'user-agent': 'codex_exec/0.169.0',
      'session-id': session,
      originator: 'codex_exec',
      'x-codex-beta-features': 'remote_compaction_v2',
      cookie: 'a=b',
    },
    body: JSON.stringify({ model: 'gpt-4o', input: 'hi' }),
  });
  const { headers } = upstream.requests.at(-1) ?? { headers: {} };
  expect(headers).toMatchObject({
    'user-agent': 'codex_exec/0.169.0',
    'session-id': session,
    originator: 'codex_exec',
    'x-codex-beta-features': 'remote_compaction_v2',
  });
  expect(headers).not.toHaveProperty('cookie');
  const bare = new Request('http://gateway/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'gpt-4o', messages }),
  });
  await gateway.relay.handle(bare, '/v1/chat/completions', { ip: () => '' });
  expect(upstream.requests.at(-1)?.headers['user-agent']).toBe('gateway');
});

test('an overloaded upstream is 529 to clients that know the status, 503 to all others', async () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  upstream.script((response) => sendJson(response, overloaded, 529));
  const answer = await anthropic();
  expect(answer.status).toBe(529);
  expect(await answer.json()).toMatchObject({ error: { type: 'overloaded_error' } });
  const chat = await fetch(`${base()}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'claude', messages }),
  });
  expect(chat.status).toBe(503);
  const gemini = await fetch(`${base()}/v1beta/models/claude:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
  });
  expect([gemini.status, ((await gemini.json()) as { error: { code: number } }).error.code]).toEqual([503, 503]);
});

test.each([
  ...['/v1/files', '/v1/conversations', '/v1/conversations/conv_1/items', '/v1/videos', '/v1/messages/batches'],
  ...['/v1/responses/resp_1', '/v1/responses/resp_1/cancel', '/v1/realtime/client_secrets', '/v1/fim/completions'],
  ...['/v1beta/files', '/v1beta/cachedContents', '/v1beta/models/imagen-4:predict', '/v2/embed'],
])('%s is documented by its vendor and not served: 501, with words', (path) => {
  expect(relayRouteFor(path)).toBeUndefined();
  expect(isUnimplemented(path)).toBe(true);
});

test.each([
  ...['/v1/responses', '/v1/messages', '/v1/fil', '/v1/responses/a/b', '/v1beta/models/gemini-3:generateContent'],
  ...['/v1/models/x:predictions', '/v2/rerank'],
])('%s is no such path', (path) => expect(isUnimplemented(path)).toBe(false));

test('the address of a maker for beginnings and suffixes leads to the same calls', () => {
  expect(forgivenPath('/beta/completions')).toBe('/v1/completions');
  expect(forgivenPath('/beta/chat/completions')).toBe('/v1/chat/completions');
  expect(forgivenPath('/beta/other')).toBe('/beta/other');
});
