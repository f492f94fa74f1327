import { afterEach, beforeEach, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

async function ask(path: string, body: object): Promise<Record<string, unknown>> {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify(body),
  });
  await (await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).text();
  return JSON.parse(String((await gateway.logs())[0]?.other)) as Record<string, unknown>;
}
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };

test('a log row has each attempt’s upstream message and duration, and no secret', async () => {
  await gateway.option('RetryTimes', '1');
  const failing = await gateway.channel(`${upstream.url}/bad`, { name: 'failing', priority: 9 });
  const good = await gateway.channel(upstream.url, { name: 'good' });
  upstream.script((response, { path }) =>
    path.startsWith('/bad')
      ? sendJson(response, { error: { message: 'no luck with sk-upstream-secret-key today' } }, 503)
      : sendJson(response, completion(10, 5)),
  );
  const other = await ask('/v1/chat/completions', chat);
  expect(other.admin_info).toEqual({
    use_channel: [String(failing), String(good)],
    attempts: [
      {
        channel: failing,
        name: 'failing',
        status: 503,
        reason: 'status',
        ms: expect.any(Number),
        message: expect.stringMatching(/^no luck with .* today$/),
      },
      { channel: good, name: 'good' },
    ],
  });
  expect(JSON.stringify(other)).not.toContain('sk-upstream');
});

test('a row without failures says no more than the channel; a path other than chat’s is named', async () => {
  const id = await gateway.channel(upstream.url, { models: 'gpt-4o-mini,text-embedding-3-small' });
  const plain = await ask('/v1/chat/completions', chat);
  expect(plain.admin_info).toEqual({ use_channel: [String(id)] });
  expect(plain).not.toHaveProperty('request_path');
  upstream.script((response) =>
    sendJson(response, { object: 'list', data: [{ embedding: [0.5] }], usage: { prompt_tokens: 3, total_tokens: 3 } }),
  );
  expect(await ask('/v1/embeddings', { model: 'text-embedding-3-small', input: 'x' })).toMatchObject({
    request_path: '/v1/embeddings',
  });
});

test('a row says when the first byte of a response came, and has no time where no upstream responded', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  expect((await ask('/v1/chat/completions', chat)).frt).toBe(-1000);
  upstream.script(async (response) => {
    await new Promise((resolve) => setTimeout(resolve, 120));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = (choices: readonly object[], usage?: object) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices, ...(usage ? { usage } : {}) })}\n\n`;
    response.write(frame([{ index: 0, delta: { content: 'hi' }, finish_reason: null }]));
    response.write(frame([{ index: 0, delta: {}, finish_reason: 'stop' }]));
    response.end(`${frame([], { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })}data: [DONE]\n\n`);
  });
  const streamed = await ask('/v1/chat/completions', { ...chat, stream: true });
  expect(Number(streamed.frt)).toBeGreaterThanOrEqual(100);
  expect(Number(streamed.frt)).toBeLessThanOrEqual(Number(streamed.ms));
});

test('a row names no channel where none could be asked', async () => {
  // Without the account there is no address to send anything to.
  await gateway.channel(upstream.url, { type: providerBySlug('cloudflare')?.type, other: '' });
  expect((await ask('/v1/chat/completions', chat)).admin_info).toEqual({ use_channel: [] });
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, channel: 0, quota: 0 });
  expect(upstream.requests).toEqual([]);
});

test('the client sees the channels that were tried where the operator enables it', async () => {
  const id = await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const trace = async () => (await gateway.chat(key, chat)).headers.get('x-gateway-trace');
  expect(await trace()).toBeNull();
  await gateway.option('general_setting.route_trace_enabled', 'true');
  expect(await trace()).toBe(`order=${id} p0 100%; tried=${id}`);
});
