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

test('with nought there are none', async () => {
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
