/** Ollama's own library as a client: told anew from other upstreams, untouched from Ollama's own. */
import { Ollama } from 'ollama';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placeOf } from '../../server/http/places.ts';
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
  await gateway.option('ModelRatio', '{"qwen3":1,"gpt-4o":1}');
  key = (await gateway.token()).key;
  const asked = (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    return gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  };
  client = new Ollama({
    host: 'http://gateway.example',
    headers: { authorization: `Bearer sk-${key}` },
    fetch: asked as typeof fetch,
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
    calls.push(...(part.message.tool_calls ?? []).map((told) => told.function));
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
  expect(['/api/chat', '/api/chat/', '/api/tags'].map(placeOf)).toEqual(['relay', 'relay', 'relay']);
  expect(['/api/chat/0', '/api/status', '/api/tagsx', '/api/user/self'].map(placeOf)).toEqual([
    'api',
    'api',
    'api',
    'api',
  ]);
});
