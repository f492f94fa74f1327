/** Ollama's own library as a client: translated from other upstreams, unchanged from Ollama's own. */
import { Ollama } from 'ollama';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathKindOf } from '../../server/http/path-kind.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let client: Ollama;

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url, { type: 4, models: 'qwen3' });
  await gateway.channel(upstream.url, { type: 1, models: 'gpt-4o' });
  await gateway.option('ModelRatio', '{"qwen3":1,"gpt-4o":1,"text-embedding-3-small":1}');
  key = (await gateway.token()).key;
  const fetchGateway = (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    return gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  };
  client = new Ollama({
    host: 'http://gateway.example',
    headers: { authorization: `Bearer sk-${key}` },
    fetch: fetchGateway as typeof fetch,
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const post = (body: string) =>
  gateway.relay.handle(
    new Request('http://gateway/api/chat', { method: 'POST', headers: { authorization: `Bearer sk-${key}` }, body }),
    '/api/chat',
    { ip: () => '127.0.0.1' },
  );
const lastBody = () => String(upstream.requests.at(-1)?.body ?? '');
const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;

test('its library streams words, thoughts and calls from another upstream', async () => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'now', arguments: '{"zone":"CET"}' } };
  const usage = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      chunk({ reasoning_content: 'hm' }) +
        chunk({ content: 'Loo' }) +
        chunk({ content: 'king' }) +
        chunk({ tool_calls: [call] }) +
        chunk({}, 'tool_calls', { usage }) +
        'data: [DONE]\n\n',
    );
  });
  const parts = await client.chat({
    model: 'gpt-4o',
    stream: true,
    messages: [{ role: 'user', content: 'when?', images: ['iVBORw0KGgo='] }],
    tools: [{ type: 'function', function: { name: 'now', description: 'time', parameters: { type: 'object' } } }],
    options: { num_predict: 50, temperature: 0.5 },
  });
  let words = '';
  let thoughts = '';
  const calls: unknown[] = [];
  let last: unknown;
  for await (const part of parts) {
    words += part.message.content;
    thoughts += part.message.thinking ?? '';
    calls.push(...(part.message.tool_calls ?? []).map((toolCall) => toolCall.function));
    last = part;
  }
  expect([words, thoughts]).toEqual(['Looking', 'hm']);
  expect(calls).toEqual([{ index: 0, name: 'now', arguments: { zone: 'CET' } }]);
  expect(last).toMatchObject({
    model: 'gpt-4o',
    done: true,
    done_reason: 'stop',
    prompt_eval_count: 20,
    eval_count: 9,
  });
  expect(JSON.parse(lastBody())).toMatchObject({
    stream: true,
    temperature: 0.5,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'when?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ],
  });
  expect((await gateway.logs())[0]).toMatchObject({ quota: 20 + 9 * 4, is_stream: true, usage_source: 'reported' });
});

test('its library gets whole answers, lists of models and errors in words', async () => {
  upstream.script((response) =>
    sendJson(response, {
      id: 'x',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
    }),
  );
  const answer = await client.chat({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] });
  expect(answer).toMatchObject({ message: { content: 'hello' }, done: true, done_reason: 'length', eval_count: 3 });
  expect((await client.list()).models.map(({ name }) => name)).toEqual(['gpt-4o', 'qwen3']);
  await expect(client.chat({ model: 'nothing', messages: [] })).rejects.toThrow(/nothing/);
});

test('lines pass untouched between Ollama’s clients and Ollama, streamed where nothing is said', async () => {
  const line = (members: object) =>
    `${JSON.stringify({ model: 'qwen3', created_at: '2026-01-01T00:00:00Z', ...members })}\n`;
  const stream =
    line({ message: { role: 'assistant', content: 'héł' }, done: false }) +
    line({ message: { role: 'assistant', content: 'lo' }, done: false }) +
    line({
      message: { role: 'assistant', content: '' },
      done: true,
      done_reason: 'stop',
      total_duration: 5,
      prompt_eval_count: 7,
      eval_count: 3,
    });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.end(stream);
  });
  const body =
    '{"model":"qwen3", "keep_alive":"5m","options":{"num_ctx":4096},"messages":[{"role":"user","content":"hi"}]}';
  const response = await post(body);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  expect(await response.text()).toBe(stream);
  expect(lastBody()).toBe(body);
  expect((await gateway.logs())[0]).toMatchObject({
    quota: 10,
    prompt_tokens: 7,
    completion_tokens: 3,
    is_stream: true,
  });
});

test.each([
  '{"model":"qwen3","options":{"num_predict":5,"Num_Predict":50000},"messages":[]}',
  '{"model":"qwen3","options":{"num_predict":5},"Options":{"num_predict":50000},"messages":[]}',
  '{"model":"qwen3","options":{"num_predict":"5"},"messages":[]}',
  '{"model":"qwen3","options":[],"messages":[]}',
])('what another parser could read otherwise is refused: %s', async (body) => {
  expect((await post(body)).status).toBe(400);
});

test('beside these paths all of /api is the console’s', () => {
  expect(['/api/chat', '/api/chat/', '/api/tags'].map(pathKindOf)).toEqual(['relay', 'relay', 'relay']);
  expect(['/api/chat/0', '/api/status', '/api/tagsx', '/api/user/self'].map(pathKindOf)).toEqual([
    'api',
    'api',
    'api',
    'api',
  ]);
});

const request = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method,
      headers: { authorization: `Bearer sk-${key}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );

const completionOf = (content: string) => ({
  id: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
});

test('generate is a chat of one turn, whole and streamed, and is billed as one', async () => {
  upstream.script((response) => sendJson(response, completionOf('hello')));
  const whole = await client.generate({
    model: 'gpt-4o',
    prompt: 'hi',
    system: 'Be brief',
    options: { num_predict: 9 },
  });
  expect(whole).toMatchObject({ model: 'gpt-4o', response: 'hello', done: true, eval_count: 3 });
  expect(whole).not.toHaveProperty('message');
  expect(JSON.parse(lastBody())).toMatchObject({
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'hi' },
    ],
  });
  expect((await gateway.logs())[0]).toMatchObject({ prompt_tokens: 4, completion_tokens: 3, quota: 4 + 3 * 4 });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const usage = { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 };
    response.end(
      `${chunk({ content: 'hel' })}${chunk({ content: 'lo' })}${chunk({}, 'stop', { usage })}data: [DONE]\n\n`,
    );
  });
  let words = '';
  let last: unknown;
  for await (const part of await client.generate({ model: 'gpt-4o', prompt: 'hi', stream: true })) {
    words += part.response;
    last = part;
  }
  expect(words).toBe('hello');
  expect(last).toMatchObject({ done: true, done_reason: 'stop', eval_count: 3 });
});

test('generate at Ollama itself goes to its chat, with what else it was given', async () => {
  upstream.script((response) =>
    sendJson(response, {
      model: 'qwen3',
      message: { role: 'assistant', content: 'hello', thinking: 'hm' },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 4,
      eval_count: 3,
    }),
  );
  const answer = await client.generate({ model: 'qwen3', prompt: 'hi', keep_alive: '5m', images: ['iVBORw0KGgo='] });
  expect(answer).toMatchObject({ response: 'hello', thinking: 'hm', done: true });
  expect(upstream.requests.at(-1)?.path).toBe('/api/chat');
  expect(JSON.parse(lastBody())).toMatchObject({
    keep_alive: '5m',
    messages: [{ role: 'user', content: 'hi', images: ['iVBORw0KGgo='] }],
  });
});

test.each([{ prompt: ['hi'] }, { prompt: 'hi', system: 5 }])('generate takes texts alone: %j', async (body) => {
  const response = await request('POST', '/api/generate', { model: 'gpt-4o', ...body });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: expect.any(String) });
});

test('embed and embeddings, of one text and of several', async () => {
  await gateway.channel(upstream.url, { type: 1, models: 'text-embedding-3-small' });
  upstream.script((response) =>
    sendJson(response, {
      object: 'list',
      data: [{ embedding: [0.5] }, { embedding: [1] }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    }),
  );
  const many = await client.embed({ model: 'text-embedding-3-small', input: ['a', 'b'] });
  expect(many).toMatchObject({ model: 'text-embedding-3-small', embeddings: [[0.5], [1]], prompt_eval_count: 3 });
  expect(JSON.parse(lastBody())).toEqual({
    model: 'text-embedding-3-small',
    input: ['a', 'b'],
    encoding_format: 'float',
  });
  expect((await gateway.logs())[0]).toMatchObject({ prompt_tokens: 3, usage_source: 'reported' });
  const one = await client.embeddings({ model: 'text-embedding-3-small', prompt: 'a' });
  expect(one).toEqual({ embedding: [0.5] });
});

test('show, ps and version say what there is', async () => {
  const details = (await client.show({ model: 'gpt-4o' })) as unknown as Record<string, unknown>;
  expect(details).toMatchObject({
    capabilities: expect.arrayContaining(['completion']),
    model_info: expect.anything(),
  });
  await expect(client.show({ model: 'nothing' })).rejects.toThrow(/nothing/);
  expect((await client.ps()).models).toEqual([]);
  const version = await request('GET', '/api/version');
  expect(await version.json()).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
});

test('calls that only a local Ollama can serve are refused in Ollama’s shape and the caller’s language', async () => {
  for (const [method, path] of [
    ['POST', '/api/pull'],
    ['POST', '/api/push'],
    ['POST', '/api/create'],
    ['POST', '/api/copy'],
    ['DELETE', '/api/delete'],
  ] as const) {
    const response = await request(method, path, { model: 'gpt-4o' }, { 'accept-language': 'en' });
    expect([path, response.status]).toEqual([path, 501]);
    expect(await response.json()).toEqual({
      error: expect.stringMatching(/^\/api\/\w+ is not implemented here \(request/),
    });
  }
  expect(['/api/pull', '/api/generate', '/api/embed', '/api/ps', '/api/version'].map(pathKindOf)).toEqual(
    Array(5).fill('relay'),
  );
});
