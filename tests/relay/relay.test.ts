import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const frame = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (content: string, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const usageFrame = frame({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [],
  usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
});

test('an answer passes byte for byte and is billed by the formula', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const before = await gateway.balance();
  const body = '{"model":"gpt-4o-mini",  "messages":[{"role":"user","content":"hi"}], "vendor_field": {"x": [1,2]}}';
  const response = await gateway.chat(key, body);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(completion(1000, 500));
  expect(upstream.requests[0]?.body.toString()).toBe(body);
  expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-upstream-secret-key');
  const [log] = await gateway.logs();
  // (1000 + 500 x 4) x 0.075
  expect(log).toMatchObject({
    quota: 225,
    prompt_tokens: 1000,
    completion_tokens: 500,
    usage_source: 'reported',
    end_reason: 'completed',
  });
  expect(await gateway.balance()).toBe(before - 225);
  expect(await gateway.verify()).toEqual([]);
});

test('a stream passes byte for byte however the upstream cuts it', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const text = `: comment\r\n\r\n${frame(delta('你好，'))}event: vendor\ndata: {"unknown": true}\n\n${frame(delta('🌍'))}${frame(delta('', 'stop'))}${usageFrame}data: [DONE]\n\n`;
  const bytes = new TextEncoder().encode(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const places = [...new Set(cuts)].sort((a, b) => a - b);
      upstream.script((response) =>
        sendStream(
          response,
          [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length)),
        ),
      );
      const response = await gateway.chat(key, { ...ask, stream: true, stream_options: { include_usage: true } });
      expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
    }),
    { numRuns: 1000 },
  );
  expect(new Set((await gateway.logs()).map((log) => log.quota))).toEqual(new Set([225]));
});

test('the usage frame that we asked for is taken out again', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  upstream.script((response) =>
    sendStream(response, [Buffer.from(`${frame(delta('a', 'stop'))}${usageFrame}data: [DONE]\n\n`)]),
  );
  const response = await gateway.chat(key, { ...ask, stream: true });
  expect(await response.text()).toBe(`${frame(delta('a', 'stop'))}data: [DONE]\n\n`);
  expect(JSON.parse(upstream.requests[0]?.body.toString() ?? '')).toMatchObject({
    stream_options: { include_usage: true },
  });
  expect((await gateway.logs())[0]).toMatchObject({ quota: 225, usage_source: 'reported' });
});

test('without usage the delivered words are counted and marked as estimated', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  upstream.script((response) =>
    sendStream(response, [Buffer.from(`${frame(delta('one two three'))}${frame(delta('', 'stop'))}data: [DONE]\n\n`)]),
  );
  const text = await (await gateway.chat(key, { ...ask, stream: true })).text();
  expect(text).toBe(`${frame(delta('one two three'))}${frame(delta('', 'stop'))}data: [DONE]\n\n`);
  expect((await gateway.logs())[0]).toMatchObject({
    completion_tokens: 3,
    usage_source: 'estimated',
    end_reason: 'completed',
  });
  upstream.script((response) => sendJson(response, { ...completion(0, 0), usage: undefined }));
  await (await gateway.chat(key, ask)).text();
  expect((await gateway.logs())[0]).toMatchObject({ completion_tokens: 2, usage_source: 'estimated' });
});

test.each([
  [{ prompt_tokens: -5, completion_tokens: 5 }],
  [{ prompt_tokens: 1e18, completion_tokens: 5 }],
  [{ prompt_tokens: 'x', completion_tokens: 5 }],
])('absurd usage %j is not believed', async (usage) => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  upstream.script((response) => sendJson(response, { ...completion(1, 1), usage }));
  await (await gateway.chat(key, ask)).text();
  const [log] = await gateway.logs();
  expect(log?.usage_source).toBe('estimated');
  expect(log?.quota).toBeLessThan(100);
});

test('a thousand requests on a balance for ten admit exactly ten', async () => {
  await gateway.channel(upstream.url, { models: 'per-call' });
  await gateway.option('ModelPrice', '{"per-call": 0.001}');
  const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 5000 });
  const pending: (() => void)[] = [];
  upstream.script((response) => void pending.push(() => sendJson(response, completion(1, 1))));
  const answers = Array.from({ length: 1000 }, () => gateway.chat(key, { ...ask, model: 'per-call' }));
  await expect.poll(() => pending.length, { timeout: 5000 }).toBe(10);
  for (const finish of pending) finish();
  const statuses = (await Promise.all(answers)).map((response) => response.status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  // So many of a user's requests wait for what his own hold, and no more.
  expect(statuses.filter((status) => status === 403)).toHaveLength(32);
  expect(statuses.filter((status) => status === 429)).toHaveLength(958);
  expect((await gateway.services.tokens.get(1, null)).remain_quota).toBe(0);
  expect(await gateway.verify()).toEqual([]);
});

test('a failing channel is left for the next, and a client mistake is not', async () => {
  const broken = await startUpstream((response) =>
    sendJson(response, { error: { message: 'boom at http://10.1.2.3/x with sk-upstream-secret-key' } }, 500),
  );
  await gateway.channel(broken.url, { priority: 10 });
  const { key } = await gateway.token();
  const once = await gateway.chat(key, ask);
  expect(once.status).toBe(502);
  const good = await gateway.channel(upstream.url);
  const text = await once.text();
  expect(text).not.toContain('sk-upstream');
  expect(text).not.toContain('10.1.2.3');
  await gateway.option('RetryTimes', '1');
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect((await gateway.logs())[0]).toMatchObject({ channel: good, type: 2 });
  broken.script((response) =>
    sendJson(
      response,
      { error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' } },
      400,
    ),
  );
  const rejected = await gateway.chat(key, ask);
  expect(rejected.status).toBe(400);
  expect(await rejected.json()).toMatchObject({
    error: { code: 'context_length_exceeded', type: 'invalid_request_error' },
  });
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0 });
  await broken.stop();
});

test('a stream that breaks off ends with an error frame and bills what was delivered', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const arrived = Promise.withResolvers<void>();
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame(delta('one two')));
    // A reset overtakes what has not been read yet.
    await arrived.promise;
    response.destroy();
  });
  const response = await gateway.chat(key, { ...ask, stream: true });
  arrived.resolve();
  const text = await response.text();
  expect(text.startsWith(frame(delta('one two')))).toBe(true);
  expect(text).toContain('"code":"upstream_broken"');
  expect(text.match(/\[DONE\]/g)).toHaveLength(1);
  expect((await gateway.logs())[0]).toMatchObject({ end_reason: 'upstream_broken', completion_tokens: 2 });
  expect(gateway.relay.open()).toBe(0);
});

test('a client that leaves cancels the upstream and pays for what it got', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame(delta('one two three four')));
  });
  const leave = new AbortController();
  const response = await gateway.chat(key, { ...ask, stream: true }, {}, leave.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  leave.abort();
  await expect.poll(() => upstream.requests[0]?.closed, { timeout: 2000 }).toBe(true);
  await expect.poll(() => gateway.relay.open(), { timeout: 2000 }).toBe(0);
  expect((await gateway.logs())[0]).toMatchObject({ end_reason: 'client_gone', completion_tokens: 4 });
});

test('mapped models and overrides are edits of the client’s own JSON', async () => {
  await gateway.channel(upstream.url, {
    model_mapping: '{"gpt-4o-mini":"b","b":"real"}',
    param_override: '{"temperature":0}',
  });
  const { key } = await gateway.token();
  await gateway.chat(
    key,
    '{"messages":[ {"role":"user","content":"hi"}],"model":"gpt-4o-mini","temperature":1,"seed":7}',
  );
  expect(upstream.requests[0]?.body.toString()).toBe(
    '{"messages":[ {"role":"user","content":"hi"}],"model":"real","temperature":0,"seed":7}',
  );
  expect(JSON.parse((await gateway.logs())[0]?.other ?? '{}')).toMatchObject({
    is_model_mapped: true,
    upstream_model_name: 'real',
  });
});

test('operations on the body act after the members that are set, and are no member of what is sent', async () => {
  await gateway.channel(upstream.url, {
    param_override: '{"operations":[{"mode":"delete","path":"seed"}],"temperature":0}',
  });
  const { key } = await gateway.token();
  await gateway.chat(key, { ...ask, seed: 7 });
  expect(JSON.parse(upstream.requests[0]?.body.toString() ?? '')).toEqual({ ...ask, temperature: 0 });
});

test.each([
  ['nothing', '', 400, 'body_not_json'],
  ['broken', '{"model":', 400, 'body_not_json'],
  ['an array', '[]', 400, 'body_not_json'],
  ['no model', '{"messages":[]}', 400, 'model_missing'],
  ['two models', '{"model":"a","model":"b"}', 400, 'body_invalid'],
  ['depth', `{"model":"gpt-4o-mini","a":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400, 'body_too_deep'],
  [
    'blocked words',
    JSON.stringify({ ...ask, messages: [{ role: 'user', content: 'Test_Sensitive!' }] }),
    400,
    'sensitive_words',
  ],
  ['an unknown model', JSON.stringify({ ...ask, model: 'nobody-has-it' }), 404, 'model_not_found'],
])('bad body: %s', async (_name, body, status, code) => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const response = await gateway.chat(key, body);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { code } });
  expect(upstream.requests).toHaveLength(0);
});

test('bytes that are no text are refused', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const response = await gateway.chat(key, new Uint8Array([123, 34, 255, 254, 34, 125]));
  expect(await response.json()).toMatchObject({ error: { code: 'body_not_utf8' } });
});

test('an unset price is refused, and accepted in self-use mode', async () => {
  await gateway.channel(upstream.url, { models: 'brand-new-model' });
  const { key } = await gateway.token();
  const rejected = await gateway.chat(key, { ...ask, model: 'brand-new-model' });
  expect(rejected.status).toBe(400);
  const { error } = (await rejected.json()) as { error: { message: string } };
  expect(error.message).toContain('not configured');
  const chinese = await gateway.chat(key, { ...ask, model: 'brand-new-model' }, { 'accept-language': 'zh-CN' });
  expect(await chinese.text()).toContain('倍率或价格未配置');
  await gateway.option('SelfUseModeEnabled', 'true');
  expect((await gateway.chat(key, { ...ask, model: 'brand-new-model' })).status).toBe(200);
  // The row says that no price was set.
  const [log] = await gateway.logs();
  expect(JSON.parse(log?.other ?? '{}')).toMatchObject({ model_ratio: 37.5, unpriced: ['model:brand-new-model'] });
});

const places: readonly (readonly [string, (key: string) => { headers: Record<string, string>; query?: string }])[] = [
  ['Authorization', (key) => ({ headers: { authorization: `Bearer sk-${key}` } })],
  ['x-api-key', (key) => ({ headers: { 'x-api-key': `sk-${key}` } })],
  ['x-goog-api-key', (key) => ({ headers: { 'x-goog-api-key': key } })],
  ['mj-api-secret', (key) => ({ headers: { 'mj-api-secret': key } })],
  ['?key=', (key) => ({ headers: {}, query: `?key=sk-${key}` })],
  ['sub-protocol', (key) => ({ headers: { 'sec-websocket-protocol': `realtime, openai-insecure-api-key.sk-${key}` } })],
];

test.each(places)('the key is found in %s and the same rules hold', async (_name, place) => {
  await gateway.channel(upstream.url);
  const send = async (key: string) => {
    const { headers, query } = place(key);
    const request = new Request(`http://gateway/v1/chat/completions${query ?? ''}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(ask),
    });
    const response = await gateway.relay.handle(request, '/v1/chat/completions', { ip: () => '10.9.9.9' });
    const body = (await response.json()) as { error?: { code: string } };
    return body.error?.code ?? response.status;
  };
  expect(await send((await gateway.token()).key)).toBe(200);
  expect(await send('no-such-key')).toBe('token_invalid');
  expect(await send((await gateway.token({ expired_time: 1000 })).key)).toBe('token_expired');
  expect(await send((await gateway.token({ allow_ips: '192.168.0.0/16' })).key)).toBe('ip_not_allowed');
  expect(await send((await gateway.token({ allow_ips: '10.0.0.0/8' })).key)).toBe(200);
  // As rows moved in from elsewhere may say.
  const limitedTo = async (addresses: string) => {
    const { id, key } = await gateway.token();
    await gateway.database.query.updateTable('tokens').set({ allow_ips: addresses }).where('id', '=', id).execute();
    await gateway.sync();
    return key;
  };
  for (const none of ['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/x', '10.0.0.0/8.5', '192.168.0.0/'])
    expect(await send(await limitedTo(none)), none).toBe('ip_not_allowed');
  expect(await send((await gateway.token({ model_limits_enabled: true, model_limits: 'other' })).key)).toBe(
    'model_not_allowed',
  );
  expect(await send((await gateway.token({ unlimited_quota: false, remain_quota: 0 })).key)).toBe('token_exhausted');
});

test('a key of one’s own making may hold dashes, and a channel may be pinned behind it', async () => {
  const channel = await gateway.channel(upstream.url);
  await gateway.services.tokens.create(gateway.userId, { name: 'own', unlimited_quota: true }, 'sk-dev-laptop-2024');
  await gateway.sync();
  expect((await gateway.chat('dev-laptop-2024', ask)).status).toBe(200);
  expect((await gateway.chat(`dev-laptop-2024-${channel}`, ask)).status).toBe(200);
  expect((await gateway.chat('dev-laptop-2024-99', ask)).status).toBe(400);
  expect((await gateway.chat('dev-laptop', ask)).status).toBe(401);
});

test('a revoked token stops working with the next look at the feed', async () => {
  await gateway.channel(upstream.url);
  const token = await gateway.token();
  expect((await gateway.chat(token.key, ask)).status).toBe(200);
  await gateway.services.tokens.remove(token.id, null);
  await gateway.sync();
  expect((await gateway.chat(token.key, ask)).status).toBe(401);
});

test('a capability that no channel of the model has is named, and no upstream is blamed', async () => {
  await gateway.channel(upstream.url, { type: 14 });
  const { key } = await gateway.token();
  const response = await gateway.relay.handle(
    new Request('http://gateway/v1/embeddings', {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', input: 'hi' }),
    }),
    '/v1/embeddings',
    { ip: () => '127.0.0.1' },
  );
  expect((await response.json()) as object).toMatchObject({ error: { code: 'operation_unsupported' } });
  expect(upstream.requests).toHaveLength(0);
});

test('pings fall between frames only', async () => {
  await gateway.close();
  const time = new VirtualTime();
  gateway = await createTestGateway({ relay: { timers: time } });
  await gateway.channel(upstream.url);
  await gateway.option('general_setting.ping_interval_enabled', 'true');
  await gateway.option('general_setting.ping_interval_seconds', '1');
  const { key } = await gateway.token();
  const whole = frame(delta('halves'));
  const begun = Promise.withResolvers<() => unknown>();
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(whole.slice(0, 20));
    begun.resolve(() => response.end(`${whole.slice(20)}${frame(delta('', 'stop'))}data: [DONE]\n\n`));
  });
  const requested = gateway.chat(key, { ...ask, stream: true });
  const finish = await begun.promise;
  await time.advance(1000);
  const response = await requested;
  finish();
  const text = await response.text();
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  expect(text).toBe(`: PING\n\n${whole}${frame(delta('', 'stop'))}data: [DONE]\n\n`);
});

test('the debt of an open stream is on disk, and a crash then charges it', async () => {
  await gateway.close();
  gateway = await createTestGateway({ limits: { checkpointMs: 0 } });
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  let finish: () => unknown = () => undefined;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame(delta('some words that are delivered already')));
    finish = () => response.end(`${frame(delta('', 'stop'))}${usageFrame}data: [DONE]\n\n`);
  });
  const response = await gateway.chat(key, { ...ask, stream: true });
  const reader = response.body?.getReader();
  await reader?.read();
  const holds = () => gateway.rows<{ observed: number }>('SELECT observed FROM holds');
  await expect.poll(async () => (await holds()).length, { timeout: 2000 }).toBe(1);
  expect((await holds())[0]?.observed).toBeGreaterThan(0);
  finish();
  while (!(await reader?.read())?.done);
  await gateway.ledger.drain();
  expect(await holds()).toEqual([]);
  expect((await gateway.logs())[0]).toMatchObject({ quota: 225, end_reason: 'completed' });
});
