/** Signs of life in streams, as a fresh installation sends them: after fifteen seconds of silence, in the form of each dialect. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const model = 'gpt-4o-mini';
const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const words = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const end = `${frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}data: [DONE]\n\n`;
const messages = [{ role: 'user', content: 'hi' }];

let time: VirtualTime;
let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let taken: PromiseWithResolvers<ServerResponse>;

beforeEach(async () => {
  time = new VirtualTime();
  gateway = await createTestGateway({ relay: { timers: time } });
  taken = Promise.withResolvers();
  upstream = await startUpstream((response) => taken.resolve(response));
  await gateway.channel(upstream.url, { type: 43 });
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const begin = (response: ServerResponse, text: string) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(text);
};

/** Reads on its own, so that a test can look at what has come so far. */
function reading({ body }: Response) {
  let text = '';
  const over = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true });
  })();
  return {
    over,
    take(): string {
      const before = text;
      text = '';
      return before;
    },
    has: (part: string) => expect.poll(() => text, { interval: 2 }).toContain(part),
  };
}

const ping = ': PING\n\n';
test.each([
  ['chat', '/v1/chat/completions', { model, stream: true, messages }, ping, ping],
  [
    'Messages',
    '/v1/messages',
    { model, stream: true, max_tokens: 9, messages },
    ping,
    'event: ping\ndata: {"type": "ping"}\n\n',
  ],
  ['Responses', '/v1/responses', { model, stream: true, input: 'hi' }, ping, ping],
  [
    'Gemini',
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    '\n\n',
    '\n\n',
  ],
  ['Cohere', '/v2/chat', { model, stream: true, messages }, ping, ping],
  [
    'Ollama',
    '/api/chat',
    { model, messages },
    '"message":{"role":"assistant","content":""},"done":false',
    '"message":{"role":"assistant","content":""},"done":false',
  ],
] as const)(
  '%s: before the first byte, and within an answer, and never sooner',
  async (_name, path, body, first, within) => {
    const requested = gateway.send(key, path, body);
    const response = await taken.promise;
    await time.advance(14_900);
    await time.advance(200);
    const client = await requested;
    expect(client.status).toBe(200);
    expect(client.headers.get('cache-control')).toBe('no-store, no-transform');
    const stream = reading(client);
    await stream.has(first);
    begin(response, words('first'));
    await stream.has('first');
    stream.take();
    await time.advance(14_000);
    expect(stream.take()).toBe('');
    await time.advance(16_000);
    await stream.has(within);
    stream.take();
    response.write(words('second'));
    await stream.has('second');
    response.end(end);
    await stream.over;
  },
);

test('a stream in which something always comes has none', async () => {
  const requested = gateway.send(key, '/v1/messages', { model, stream: true, max_tokens: 9, messages });
  const response = await taken.promise;
  begin(response, words('first'));
  const stream = reading(await requested);
  let text = '';
  for (let n = 0; n < 6; n++) {
    response.write(words(`word${n}`));
    await stream.has(`word${n}`);
    text += stream.take();
    await time.advance(7000);
  }
  response.end(end);
  await stream.over;
  expect(text).not.toMatch(/ping/i);
});

test('with an interval of nought there are no blanks', async () => {
  await gateway.option('general_setting.keep_alive_seconds', '0');
  const requested = gateway.send(key, '/v1/chat/completions', { model, stream: true, messages });
  const response = await taken.promise;
  await time.advance(200_000);
  begin(response, words('first'));
  const stream = reading(await requested);
  await stream.has('first');
  stream.take();
  await time.advance(50_000);
  expect(stream.take()).toBe('');
  response.end(end);
  await stream.over;
});

test('the pings that are switched on go before it, with their interval and form', async () => {
  await gateway.option('general_setting.ping_interval_enabled', 'true');
  await gateway.option('general_setting.ping_interval_seconds', '40');
  const requested = gateway.send(key, '/v1/messages', { model, stream: true, max_tokens: 9, messages });
  const response = await taken.promise;
  begin(response, words('first'));
  const stream = reading(await requested);
  await stream.has('first');
  stream.take();
  await time.advance(39_000);
  expect(stream.take()).toBe('');
  await time.advance(41_000);
  await stream.has(ping);
  expect(stream.take().replaceAll(ping, '')).toBe('');
  response.end(end);
  await stream.over;
});

test('an answer in one piece stays as it is, and keeps its status', async () => {
  const requested = gateway.send(key, '/v1/chat/completions', { model, messages });
  const response = await taken.promise;
  await time.advance(60_000);
  sendJson(response, completion(3, 2));
  const client = await requested;
  expect(client.headers.get('cache-control')).not.toContain('no-transform');
  expect(await client.json()).toMatchObject({ usage: { prompt_tokens: 3 } });
});

test.each([
  ['chat', '/v1/chat/completions', { model, messages }],
  ['Responses', '/v1/responses', { model, input: 'hi' }],
  ['Messages', '/v1/messages', { model, max_tokens: 9, messages }],
  ['Gemini', `/v1beta/models/${model}:generateContent`, { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
  ['Ollama', '/api/chat', { model, messages, stream: false }],
] as const)('%s in one piece gets blanks before its JSON where an option lets them come', async (_name, path, body) => {
  await gateway.option('general_setting.blank_seconds', '10');
  const requested = gateway.send(key, path, body);
  const response = await taken.promise;
  await time.advance(11_000);
  const client = await requested;
  expect([client.status, client.headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(client.headers.get('cache-control')).toBe('no-store, no-transform');
  const stream = reading(client);
  await stream.has(' ');
  await time.advance(11_000);
  await stream.has('  ');
  sendJson(response, completion(3, 2));
  await stream.over;
  const text = stream.take();
  expect(text.slice(0, 2)).toBe('  ');
  expect(JSON.stringify(JSON.parse(text))).toContain('hello world');
  expect(await gateway.logs()).toMatchObject([{ prompt_tokens: 3, completion_tokens: 2 }]);
});

test('an answer in one piece that comes in time is as ever, and an error after a blank is the body', async () => {
  await gateway.option('general_setting.blank_seconds', '10');
  await gateway.option('RetryTimes', '0');
  const quick = gateway.send(key, '/v1/chat/completions', { model, messages });
  sendJson(await taken.promise, completion(3, 2));
  const whole = await quick;
  expect(whole.headers.get('cache-control')).toBe('no-store');
  expect((await whole.text()).startsWith('{')).toBe(true);
  taken = Promise.withResolvers();
  const requested = gateway.send(key, '/v1/chat/completions', { model, messages });
  const response = await taken.promise;
  await time.advance(11_000);
  const client = await requested;
  sendJson(response, { error: { message: 'no' } }, 400);
  const text = await client.text();
  expect([client.status, text.startsWith(' ')]).toEqual([200, true]);
  expect(JSON.parse(text)).toMatchObject({ error: { message: expect.any(String) } });
});

test('a client that leaves while it gets blanks is sent no more of them, and the request ends', async () => {
  await gateway.option('general_setting.blank_seconds', '10');
  const leaving = new AbortController();
  const requested = gateway.send(key, '/v1/chat/completions', { model, messages }, { signal: leaving.signal });
  const response = await taken.promise;
  await time.advance(11_000);
  const reader = ((await requested).body as ReadableStream<Uint8Array>).getReader();
  expect((await reader.read()).value).toEqual(new Uint8Array([0x20]));
  leaving.abort();
  await reader.cancel();
  await time.advance(60_000);
  sendJson(response, completion(3, 2));
  await expect.poll(() => gateway.logs(), { interval: 5 }).toHaveLength(1);
});
