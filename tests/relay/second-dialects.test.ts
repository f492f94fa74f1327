/** Providers that speak the client's own dialect beside theirs are asked in it; a full address is asked in what it is. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { secondDialects } from '../../server/providers/knowledge/second-dialects.ts';
import { endpointFor } from '../../server/providers/provider.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response, { path }) =>
    path.includes('/embeddings')
      ? sendJson(response, {
          object: 'list',
          data: [{ object: 'embedding', index: 0, embedding: [1] }],
          usage: { prompt_tokens: 1, total_tokens: 1 },
        })
      : sendJson(response, completion(3, 2)),
  );
  await gateway.option('SelfUseModeEnabled', 'true');
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const address = (slug: string, operation: string, model: string, baseUrl = '') => {
  const provider = providerBySlug(slug);
  return provider === undefined ? undefined : endpointFor(provider, operation, { baseUrl, model, other: '' });
};

test.each([
  ['deepseek', '', 'deepseek-v4-pro', 'https://api.deepseek.com/anthropic/v1/messages'],
  ['deepseek', 'https://api.deepseek.com/v1', 'deepseek-chat', 'https://api.deepseek.com/anthropic/v1/messages'],
  ['deepseek', 'https://proxy.example/v1', 'deepseek-chat', null],
  ['moonshot', '', 'kimi-k2.6', 'https://api.moonshot.cn/anthropic/v1/messages'],
  ['moonshot', 'https://api.moonshot.ai', 'kimi-k2.6', 'https://api.moonshot.ai/anthropic/v1/messages'],
  ['moonshot', '', 'moonshot-v1-8k', null],
  ['zhipu-v4', '', 'glm-5.2', 'https://open.bigmodel.cn/api/anthropic/v1/messages'],
  ['zhipu-v4', '', 'glm-4-plus', null],
  ['zhipu-v4', '', 'glm-4v', null],
  ['minimax', 'https://api.minimaxi.com', 'MiniMax-M2.7', 'https://api.minimaxi.com/anthropic/v1/messages'],
  ['minimax', '', 'MiniMax-M2.7', 'https://api.minimaxi.com/anthropic/v1/messages'],
  ['minimax', 'https://api.minimax.cn', 'MiniMax-M3', 'https://api.minimax.cn/anthropic/v1/messages'],
  ['minimax', 'https://api.minimax.chat', 'MiniMax-M2.7', null],
  ['ali', '', 'qwen3-coder-plus', 'https://dashscope.aliyuncs.com/apps/anthropic/v1/messages'],
  ['ali', '', 'qwen-plus', 'https://dashscope.aliyuncs.com/apps/anthropic/v1/messages'],
  ['ali', '', 'deepseek-v3', null],
  ['openrouter', '', 'anthropic/claude-opus-4.6', 'https://openrouter.ai/api/v1/messages'],
])('messages of %s at "%s" for %s go to %s', (slug, base, model, expected) =>
  expect(address(slug, 'messages', model, base)).toBe(expected),
);

test('the chat of these providers stays where it is', () => {
  for (const { provider } of secondDialects) {
    const row = providerBySlug(provider);
    expect(address(provider, 'chat', 'm')).toBe(`${row?.baseUrl}${row?.paths.chat}`);
  }
});

test('cache marks of an agent reach a provider that takes them, byte for byte', async () => {
  // The host is asked through a proxy, which is the double.
  const setting = JSON.stringify({ proxy: upstream.url });
  await gateway.channel('http://openrouter.ai/api', { type: 20, models: 'anthropic/claude-opus-4.6', setting });
  const { key } = await gateway.token();
  upstream.script((response) =>
    sendJson(response, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, cache_read_input_tokens: 9, output_tokens: 2 },
    }),
  );
  const body = `{ "model":"anthropic/claude-opus-4.6","max_tokens": 5,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"}]}`;
  const response = await gateway.relay.handle(
    new Request('http://gateway/v1/messages', { method: 'POST', headers: { 'x-api-key': `sk-${key}` }, body }),
    '/v1/messages',
    { ip: () => '' },
  );
  expect(response.status).toBe(200);
  const sent = upstream.requests.at(-1);
  expect([sent?.path, sent?.body.toString('utf8')]).toEqual(['http://openrouter.ai/api/v1/messages', body]);
  upstream.script((answer, { path }) =>
    path.includes('/embeddings')
      ? sendJson(answer, {
          object: 'list',
          data: [{ object: 'embedding', index: 0, embedding: [1] }],
          usage: { prompt_tokens: 1, total_tokens: 1 },
        })
      : sendJson(answer, completion(3, 2)),
  );
});

test('a channel behind an address of its own may declare that it takes cache marks', async () => {
  const text = { type: 'text', text: 'long', cache_control: { type: 'ephemeral', ttl: '1h' } };
  const body = { model: 'm', max_tokens: 5, system: [text], messages: [{ role: 'user', content: [text] }] };
  const id = await gateway.channel(upstream.url, { type: 1, models: 'm' });
  await gateway.option('ModelRatio', '{"m":1}');
  const { key } = await gateway.token();
  upstream.script((response) => sendJson(response, completion(3, 2)));
  const sent = async () => {
    const request = new Request('http://gateway/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': `sk-${key}` },
      body: JSON.stringify(body),
    });
    const response = await gateway.relay.handle(request, '/v1/messages', { ip: () => '' });
    expect(response.status).toBe(200);
    const [row] = await gateway.logs();
    const { dropped } = JSON.parse(row?.other ?? '{}') as { dropped?: string[] };
    const { messages } = JSON.parse(upstream.requests.at(-1)?.body.toString('utf8') ?? '{}');
    return { messages, dropped };
  };
  const plain = await sent();
  expect(JSON.stringify(plain.messages)).not.toContain('cache_control');
  expect(plain.dropped).toEqual([
    '/messages/0/content/0: marks of what to cache are not known to the upstream, as in 1 more place',
  ]);
  await gateway.services.channels.update(id, { setting: '{"cache_marks":true}' });
  await gateway.sync();
  expect(await sent()).toEqual({
    messages: [
      { role: 'system', content: [text] },
      { role: 'user', content: [text] },
    ],
    dropped: undefined,
  });
});

test('a channel may be held to either dialect', async () => {
  const types = (await gateway.call('channel.types', {})) as { slug: string; dialects: string[] }[];
  for (const { provider } of secondDialects)
    expect(types.find(({ slug }) => slug === provider)?.dialects).toContain('anthropic-messages');
});

const full = async (path: string, model: string): Promise<string> => {
  await gateway.channel(`${upstream.url}${path}`, { type: 8, models: model });
  return (await gateway.token()).key;
};
const post = async (key: string, path: string, body: unknown) => {
  const before = upstream.requests.length;
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '' },
  );
  await response.text();
  const sent = upstream.requests[before];
  const received = JSON.parse(sent?.body.toString('utf8') || '{}') as Record<string, unknown>;
  return { status: response.status, path: sent?.path, members: Object.keys(received).toSorted() };
};

test('a full chat address gets chats, whatever its clients speak', async () => {
  const key = await full('/deep/v3/chat/completions', 'own-a');
  expect(await post(key, '/v1/responses', { model: 'own-a', input: 'hi' })).toEqual({
    status: 200,
    path: '/deep/v3/chat/completions',
    members: ['messages', 'model'],
  });
  expect(
    (await post(key, '/v1/messages', { model: 'own-a', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }))
      .path,
  ).toBe('/deep/v3/chat/completions');
});

test('requests that are no chat go to the address beside that of chats, or nowhere', async () => {
  const key = await full('/deep/v3/chat/completions?tenant=1', 'own-b');
  expect(await post(key, '/v1/embeddings', { model: 'own-b', input: 'hi' })).toMatchObject({
    status: 200,
    path: '/deep/v3/embeddings?tenant=1',
  });
  const odd = await full('/run/it', 'own-c');
  expect((await post(odd, '/v1/responses', { model: 'own-c', input: 'hi' })).path).toBe('/run/it');
  const rejected = await post(odd, '/v1/embeddings', { model: 'own-c', input: 'hi' });
  expect(rejected.path).toBeUndefined();
  expect(rejected.status).toBeGreaterThanOrEqual(400);
});

test('a full address of another operation is that operation alone', async () => {
  const key = await full('/api/v2/embeddings', 'own-d');
  expect((await post(key, '/v1/embeddings', { model: 'own-d', input: 'hi' })).path).toBe('/api/v2/embeddings');
  expect((await post(key, '/v1/responses', { model: 'own-d', input: 'hi' })).path).toBe('/api/v2/responses');
});
