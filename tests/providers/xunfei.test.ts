import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sparkEdition, xunfei } from '../../server/providers/adapters/xunfei.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { signUrl } from '../../server/providers/signing/signed-url.ts';
import { completion, sendJson } from '../support/upstream.ts';
import { chatOf, chunksOf, hi, providerBench, textOfMember } from './bench.ts';

const bench = providerBench({ limits: { headersTimeoutMs: 1000 } });
const secret = 'APP|SECRET|KEY';
const model = 'SparkDesk-v3.5';

interface Requested {
  readonly url: URL;
  readonly body: Record<string, unknown>;
}

let requested: Requested[];
let closed: number;
/** What a question is answered with. */
let script: (send: (body: unknown) => void, close: () => void) => void;
/** Set where the handshake is refused. */
let refusal: Response | null;
let spark: ReturnType<typeof Bun.serve<URL>>;

beforeEach(() => {
  requested = [];
  closed = 0;
  refusal = null;
  spark = Bun.serve<URL>({
    port: 0,
    fetch(request, server) {
      if (refusal !== null) return refusal.clone() as Response;
      return server.upgrade(request, { data: new URL(request.url) }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      message(socket, data) {
        requested.push({ url: socket.data, body: JSON.parse(String(data)) });
        script(
          (body) => void socket.send(JSON.stringify(body, null, 1)),
          () => socket.close(),
        );
      },
      close: () => void closed++,
    },
  });
});
afterEach(() => spark.stop(true));

const channel = (models = model, fields: object = {}) =>
  bench.channel('xunfei', models, { key: secret, base_url: `http://127.0.0.1:${spark.port}`, ...fields });
const usage = { text: { question_tokens: 2, prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
const frame = (status: number, payload: object, more: object = {}) => ({
  header: { code: 0, message: 'Success', sid: 's', status },
  payload: { choices: { status, seq: status, text: [{ role: 'assistant', index: 0, ...payload }] }, ...more },
});
const failure = (code: number) => ({ header: { code, message: `failed ${code}`, sid: 's', status: 2 } });

test('the signature is the one of the vendor’s own example', () => {
  const at = Date.parse('Fri, 05 May 2023 10:43:39 GMT');
  const keys = { apiKey: 'addd2272b6d8b7c8abdd79531420ca3b', apiSecret: 'MjlmNzkzNmZkMDQ2OTc0ZDdmNGE2ZTZi' };
  const query = new URL(signUrl('wss://spark-api.xf-yun.com/v1.1/chat', keys, at)).searchParams;
  const proof = Buffer.from(query.get('authorization') ?? '', 'base64').toString();
  expect(query.get('date')).toBe('Fri, 05 May 2023 10:43:39 GMT');
  expect(query.get('host')).toBe('spark-api.xf-yun.com');
  // The example's digest begins with cf 98 07 76 ed e9 c5 55 78 00 33 32 93 8e bb.
  expect(proof).toMatch(
    /^api_key="addd2272b6d8b7c8abdd79531420ca3b", algorithm="hmac-sha256", headers="host date request-line", signature="z5gHdu3pxVV4ADMyk467/,
  );
});

test.each([
  ['SparkDesk', '', 'generalv2', '/v2.1/chat'],
  ['SparkDesk', 'v3.1', 'generalv3', '/v3.1/chat'],
  ['SparkDesk', 'v9', 'generalv9', '/v9/chat'],
  ['SparkDesk-v1.1', 'v3.1', 'lite', '/v1.1/chat'],
  ['SparkDesk-v4.0', '', '4.0Ultra', '/v4.0/chat'],
  ['Spark-Pro-128K', '', 'pro-128k', '/chat/pro-128k'],
  ['max-32k', '', 'max-32k', '/chat/max-32k'],
  ['4.0Ultra', '', '4.0Ultra', '/v4.0/chat'],
  ['my-own', 'v3.5', 'my-own', '/v3.5/chat'],
])('%s at version "%s" is %s at %s', (name, version, domain, path) => {
  expect(sparkEdition(name, version)).toEqual({ domain, path });
});

test('where a channel names no address, its kind of key says which host is asked', () => {
  const provider = providerBySlug('xunfei');
  if (provider === undefined) throw new Error('no such provider');
  const { baseUrl } = provider;
  const dialect = 'openai-chat' as const;
  const place = {
    provider,
    operation: 'chat',
    row: 'chat',
    dialect,
    model,
    mapped: false,
    stream: true,
    baseUrl,
    other: '',
  };
  const made = xunfei.endpoint?.(place)?.url;
  const url = (key: string) => (typeof made === 'function' ? made(key) : made);
  expect(url(secret)).toBe('wss://spark-api.xf-yun.com/v3.5/chat');
  expect(url('KEY:SECRET')).toBe('https://spark-api-open.xf-yun.com/v1/chat/completions');
});

test('a question over the socket: address, signature, message, streamed answer', async () => {
  const key = await channel();
  script = (send) => {
    send(frame(0, { reasoning_content: 'hmm' }));
    send(frame(1, { content: 'hel' }));
    // Left open: the caller hangs up.
    send(frame(2, { content: 'lo' }, { usage }));
  };
  const chunks = await chunksOf(
    await bench.gateway.chat(key, {
      model,
      messages: [{ role: 'system', content: 'be brief' }, ...hi],
      temperature: 0.5,
      max_tokens: 50,
      user: 'u-1',
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  expect(textOfMember(chunks, 'reasoning_content')).toBe('hmm');
  expect(textOfMember(chunks, 'content')).toBe('hello');
  expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  const [{ url, body }] = requested as [Requested];
  expect(body).toEqual({
    header: { app_id: 'APP', uid: 'u-1' },
    parameter: { chat: { domain: 'generalv3.5', temperature: 0.5, max_tokens: 50 } },
    payload: { message: { text: [{ role: 'system', content: 'be brief' }, ...hi] } },
  });
  expect(url.pathname).toBe('/v3.5/chat');
  const date = url.searchParams.get('date') ?? '';
  expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(5000);
  const signed = `host: 127.0.0.1:${spark.port}\ndate: ${date}\nGET /v3.5/chat HTTP/1.1`;
  const signature = createHmac('sha256', 'SECRET').update(signed).digest('base64');
  expect(Buffer.from(url.searchParams.get('authorization') ?? '', 'base64').toString()).toBe(
    `api_key="KEY", algorithm="hmac-sha256", headers="host date request-line", signature="${signature}"`,
  );
  expect(await bench.log()).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, usage_source: 'reported' });
  await expect.poll(() => closed).toBe(1);
});

test('one piece is gathered; functions are offered and called', async () => {
  const key = await channel();
  const call = { name: 'now', arguments: '{"zone":"CET"}' };
  script = (send) => send(frame(2, { content: '', function_call: call }, { usage }));
  const fn = { name: 'now', description: 'time', parameters: { type: 'object' } };
  const { choices } = await chatOf(
    await bench.gateway.chat(key, { model, messages: hi, tools: [{ type: 'function', function: fn }] }),
  );
  expect(choices[0]).toMatchObject({
    message: { tool_calls: [{ function: call }] },
    finish_reason: 'tool_calls',
  });
  expect(requested[0]?.body.payload).toMatchObject({ functions: { text: [fn] } });
});

test.each([
  [10013, 400],
  [10907, 400],
  [11202, 429],
  [11200, 400],
  [10012, 502],
])('code %d is answered with %d', async (code, status) => {
  const key = await channel();
  script = (send) => send(failure(code));
  const response = await bench.gateway.chat(key, { model, messages: hi, stream: true });
  expect(response.status).toBe(status);
  expect((await response.text()).includes(`failed ${code}`)).toBe(status !== 429);
  expect(await bench.log()).toMatchObject({ type: 5, quota: 0 });
  expect(bench.gateway.relay.open()).toBe(0);
});

test('a socket that closes early is a broken stream', async () => {
  const key = await channel();
  script = (send, close) => {
    send(frame(1, { content: 'hel' }));
    close();
  };
  const text = await (await bench.gateway.chat(key, { model, messages: hi, stream: true })).text();
  expect(text).toContain('"content":"hel"');
  expect(text).toContain('"error"');
  expect(await bench.log()).toMatchObject({ end_reason: 'upstream_broken' });
});

test('a client that leaves hangs up', async () => {
  const key = await channel();
  script = (send) => send(frame(1, { content: 'hel' }));
  const abort = new AbortController();
  const response = await bench.gateway.chat(key, { model, messages: hi, stream: true }, {}, abort.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  abort.abort();
  await expect.poll(() => closed).toBe(1);
  await expect.poll(async () => (await bench.log()).end_reason).toBe('client_gone');
});

test.each([
  [401, 'HMAC signature does not match', 'status 401'],
  [503, 'no capacity', 'status 503'],
  [426, 'upgrade required', 'unreachable'],
])('a handshake refused with %d says why in the log', async (status, message, failure) => {
  const key = await channel();
  refusal = Response.json({ message }, { status });
  const response = await bench.gateway.chat(key, { model, messages: hi });
  expect(response.status).toBe(status === 401 ? 400 : 502);
  // What lasts is quoted, what passes is not.
  expect((await response.text()).includes(message)).toBe(status === 401);
  expect((await bench.log()).other.failure).toBe(failure);
});

test('the port is closed, or the handshake gets no answer', async () => {
  const key = await channel();
  const { port } = spark;
  await spark.stop(true);
  expect((await bench.gateway.chat(key, { model, messages: hi })).status).toBe(502);
  expect((await bench.log()).other.failure).toBe('unreachable');
  const silent = Bun.listen({ hostname: '127.0.0.1', port: port ?? 0, socket: { data: () => undefined } });
  expect((await bench.gateway.chat(key, { model, messages: hi })).status).toBe(504);
  silent.stop(true);
});

test('a key of two parts is trouble of the key', async () => {
  const key = await channel(model, { key: 'APP|SECRET' });
  expect((await bench.gateway.chat(key, { model, messages: hi })).status).toBe(400);
  expect(requested).toEqual([]);
});

test.each([
  [model, '/v1/chat/completions', 'generalv3.5'],
  ['x1', '/v2/chat/completions', 'x1'],
])('a password speaks HTTP: %s', async (name, path, domain) => {
  const key = await bench.channel('xunfei', name, { key: 'KEY:SECRET' });
  bench.script((response) => sendJson(response, completion(10, 5)));
  expect((await bench.gateway.chat(key, { model: name, messages: hi, top_p: 0.5 })).status).toBe(200);
  expect(bench.sent().path).toBe(path);
  expect(bench.sent().headers.authorization).toBe('Bearer KEY:SECRET');
  expect(bench.sent().body).toEqual({ model: domain, messages: hi, top_p: 0.5 });
});
