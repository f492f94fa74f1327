/** What happens to the upstream's answer when the client has gone: cancelled by default, read on where the channel asks for it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let server: ReturnType<typeof Bun.serve>;
let key: string;
let received: Request | undefined;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  key = (await gateway.token()).key;
  server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch: (request) => {
      received = request;
      return gateway.relay.handle(request, '/v1/chat/completions', { ip: () => '127.0.0.1' });
    },
  });
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await server.stop(true);
  await gateway.close();
  await upstream.stop();
});

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const words = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const ask = (stream: boolean, signal: AbortSignal) =>
  fetch(`http://127.0.0.1:${server.port}/`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify({ model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: 'hi' }] }),
    signal,
  });
const noticed = () => expect.poll(() => received?.signal.aborted, { timeout: 5000 }).toBe(true);
const ended = () => expect.poll(() => gateway.relay.open(), { timeout: 5000 }).toBe(0);

test('a stream is read on after the client has gone, and charged by what the upstream reports', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":true}' });
  let gone = false;
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(words('one '));
    while (!gone) await Bun.sleep(5);
    await Bun.sleep(50);
    response.write(words('two three '));
    response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.end(`${frame({ choices: [], usage })}data: [DONE]\n\n`);
  });
  const leave = new AbortController();
  const response = await ask(true, leave.signal);
  await response.body?.getReader().read();
  leave.abort();
  await noticed();
  gone = true;
  await ended();
  expect((await gateway.logs())[0]).toMatchObject({
    end_reason: 'client_gone',
    usage_source: 'reported',
    prompt_tokens: 11,
    completion_tokens: 7,
  });
});

test('an answer in one piece is waited for after the client has gone, and nothing is tried elsewhere', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":true}' });
  let gone = false;
  upstream.script(async (response) => {
    while (!gone) await Bun.sleep(5);
    await Bun.sleep(50);
    sendJson(response, { choices: [{ message: { content: 'hello' }, finish_reason: 'stop' }], usage });
  });
  const leave = new AbortController();
  const requested = ask(false, leave.signal).catch(() => null);
  await expect.poll(() => upstream.requests.length).toBe(1);
  leave.abort();
  await requested;
  await noticed();
  gone = true;
  await ended();
  expect(upstream.requests).toHaveLength(1);
  expect((await gateway.logs())[0]).toMatchObject({
    end_reason: 'client_gone',
    usage_source: 'reported',
    prompt_tokens: 11,
    completion_tokens: 7,
  });
});

test('reading on has an end: after the seconds the channel grants, the upstream is cancelled', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":0.2}' });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(words('one two three'));
  });
  const leave = new AbortController();
  const response = await ask(true, leave.signal);
  await response.body?.getReader().read();
  const left = performance.now();
  leave.abort();
  await ended();
  expect(performance.now() - left).toBeGreaterThan(150);
  await expect.poll(() => upstream.requests[0]?.closed, { timeout: 2000 }).toBe(true);
  expect((await gateway.logs())[0]).toMatchObject({ end_reason: 'client_gone', completion_tokens: 3 });
});

test('a failure after the client has gone is not tried again', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":true}' });
  await gateway.channel(upstream.url, { setting: '{"drain":true}' });
  await gateway.option('RetryTimes', '3');
  let gone = false;
  upstream.script(async (response) => {
    while (!gone) await Bun.sleep(5);
    sendJson(response, { error: { message: 'busy' } }, 500);
  });
  const leave = new AbortController();
  const requested = ask(false, leave.signal).catch(() => null);
  await expect.poll(() => upstream.requests.length).toBe(1);
  leave.abort();
  await requested;
  await noticed();
  gone = true;
  await ended();
  expect(upstream.requests).toHaveLength(1);
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0, end_reason: 'client_gone' });
});
