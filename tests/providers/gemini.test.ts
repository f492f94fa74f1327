import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { openHttpServer } from '../../server/http/http-server.ts';
import { completion, sendJson } from '../support/upstream.ts';
import { hi, providerBench, sendEvents } from './bench.ts';

const bench = providerBench();
const chunk = (text: string, more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }],
});
const last = {
  ...chunk('lo', { finishReason: 'STOP' }),
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
};
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
type Chunks = { candidates: { content: { parts: { text: string }[] } }[] }[];
const wordsOf = (list: Chunks) => list.map(({ candidates }) => candidates[0]?.content.parts[0]?.text ?? '').join('');
const stream = (model: string, query = '', version = 'v1beta') =>
  `/${version}/models/${model}:streamGenerateContent${query}`;

test.each(['v1beta', 'v1'])('a stream without alt=sse is a list, verbatim, under %s', async (version) => {
  const key = await bench.channel('gemini', 'gemini-2.5-flash');
  bench.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // Google ends its lines in two characters.
    response.end([chunk('hel'), last].map((one) => `data: ${JSON.stringify({ ...one, odd: 1 })}\r\n\r\n`).join(''));
  });
  const response = await bench.post(stream('gemini-2.5-flash', '', version), key, { contents });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await response.json()).toEqual([
    { ...chunk('hel'), odd: 1 },
    { ...last, odd: 1 },
  ]);
  expect(bench.sent().path).toBe('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
  expect(await bench.log()).toMatchObject({ end_reason: 'completed', completion_tokens: 5, usage_source: 'reported' });
});

test('with alt=sse it is events', async () => {
  const key = await bench.channel('gemini', 'gemini-2.5-flash');
  bench.script((response) => sendEvents(response, [chunk('hel'), last]));
  const response = await bench.post(stream('gemini-2.5-flash', '?alt=sse'), key, { contents });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  expect(await response.text()).toBe(`data: ${JSON.stringify(chunk('hel'))}\n\ndata: ${JSON.stringify(last)}\n\n`);
});

test('a list from another dialect, streamed or in one piece', async () => {
  const key = await bench.channel('openai', 'gpt-4o');
  const piece = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  bench.script((response) =>
    sendEvents(response, [piece({ content: 'hel' }), piece({ content: 'lo' }), piece({}, 'stop')]),
  );
  const streamed = (await (await bench.post(stream('gpt-4o'), key, { contents })).json()) as Chunks;
  expect(wordsOf(streamed)).toBe('hello');
  expect(streamed.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }] });
  bench.script((response) => sendJson(response, completion(10, 5)));
  const whole = (await (await bench.post(stream('gpt-4o'), key, { contents })).json()) as Chunks;
  expect(wordsOf(whole)).toBe('hello world');
});

test('a list comes in pieces, as the answer is made', async () => {
  const key = await bench.channel('gemini', 'gemini-2.5-flash');
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  bench.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(chunk('hel'))}\n\n`);
    await seen;
    response.end(`data: ${JSON.stringify(last)}\n\n`);
  });
  const door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    relay: bench.gateway.relay,
    mayServe: () => true,
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => null,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
  });
  const response = await fetch(`http://127.0.0.1:${door.port}${stream('gemini-2.5-flash')}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': `sk-${key}` },
    body: JSON.stringify({ contents }),
  });
  let text = '';
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString();
    if (text.includes('hel')) resolve();
  }
  await door.stop(100);
  expect(text).toBe(`[${JSON.stringify(chunk('hel'))}\n,${JSON.stringify(last)}\n]`);
});

test('errors in a list: before the stream, and in its middle', async () => {
  const key = await bench.channel('gemini', 'gemini-2.5-flash');
  bench.script((response) =>
    sendJson(response, { error: { code: 400, message: 'bad part', status: 'INVALID_ARGUMENT' } }, 400),
  );
  const rejected = await bench.post(stream('gemini-2.5-flash'), key, { contents });
  expect(rejected.status).toBe(400);
  expect(await rejected.json()).toEqual([
    { error: expect.objectContaining({ message: expect.stringContaining('bad part') }) },
  ]);
  const unknown = await bench.post(stream('nobody-has-it', '', 'v1'), key, { contents });
  expect(await unknown.json()).toEqual([{ error: expect.objectContaining({ code: unknown.status }) }]);
  bench.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(chunk('hel'))}\n\n`);
    setTimeout(() => response.destroy(), 50);
  });
  const broken = (await (await bench.post(stream('gemini-2.5-flash'), key, { contents })).json()) as unknown[];
  expect(broken).toEqual([chunk('hel'), { error: expect.objectContaining({ status: 'INTERNAL' }) }]);
  expect(await bench.log()).toMatchObject({ end_reason: 'upstream_broken' });
});

test('a list that waits stays alive with blanks', async () => {
  await bench.gateway.option('general_setting.ping_interval_enabled', 'true');
  await bench.gateway.option('general_setting.ping_interval_seconds', '1');
  const key = await bench.channel('gemini', 'gemini-2.5-flash');
  bench.script(async (response) => {
    await Bun.sleep(1300);
    sendEvents(response, [chunk('hel'), last]);
  });
  const text = await (await bench.post(stream('gemini-2.5-flash'), key, { contents })).text();
  expect(text).toMatch(/^\s+\[/);
  expect(wordsOf(JSON.parse(text))).toBe('hello');
  // The upstream answers in one piece although a stream was asked for.
  bench.script(async (response) => {
    await Bun.sleep(1300);
    sendJson(response, last);
  });
  const whole = await (await bench.post(stream('gemini-2.5-flash'), key, { contents })).text();
  expect(wordsOf(JSON.parse(whole))).toBe('lo');
});

const image = 'aW1hZ2U=';

test('Imagen: sizes become shapes, bytes come back', async () => {
  const key = await bench.channel('gemini', 'imagen-4.0-generate-001');
  bench.script((response) =>
    sendJson(response, { predictions: [{ bytesBase64Encoded: image, mimeType: 'image/png', prompt: 'a red dot' }] }),
  );
  const ask = { model: 'imagen-4.0-generate-001', prompt: 'a dot', n: 2, size: '1536x1024', output_format: 'jpeg' };
  expect(await (await bench.post('/v1/images/generations', key, ask)).json()).toEqual({
    created: expect.any(Number),
    data: [{ b64_json: image, revised_prompt: 'a red dot' }],
  });
  const asUrl = await bench.post('/v1/images/generations', key, { ...ask, size: 'auto', response_format: 'url' });
  expect(await asUrl.json()).toMatchObject({ data: [{ url: `data:image/png;base64,${image}` }] });
  expect(bench.sent(0).path).toBe('/v1beta/models/imagen-4.0-generate-001:predict');
  expect(bench.sent(0).headers['x-goog-api-key']).toBe('sk-upstream-secret-key');
  expect(bench.sent(0).body).toEqual({
    instances: [{ prompt: 'a dot' }],
    parameters: { sampleCount: 2, aspectRatio: '4:3', outputOptions: { mimeType: 'image/jpeg' } },
  });
  expect(bench.sent(1).body.parameters.aspectRatio).toBeUndefined();
});

test.each([
  [{ predictions: [{ raiFilteredReason: 'not for children' }] }, 200, 400, 'not for children'],
  [{}, 200, 400, 'filtered out'],
  [{ error: { code: 400, message: 'bad shape', status: 'INVALID_ARGUMENT' } }, 400, 400, 'bad shape'],
  [
    { error: { code: 400, message: 'no key', status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } },
    400,
    400,
    'no key',
  ],
])('Imagen refuses with %j', async (body, status, code, words) => {
  const key = await bench.channel('gemini', 'imagen-4.0-generate-001');
  bench.script((response) => sendJson(response, body, status));
  const response = await bench.post('/v1/images/generations', key, { model: 'imagen-4.0-generate-001', prompt: 'x' });
  expect(response.status).toBe(code);
  expect(await response.text()).toContain(words);
  expect(await bench.log()).toMatchObject({ type: 5, quota: 0 });
});

test('models that draw while they talk are asked for a picture', async () => {
  const model = 'gemini-2.5-flash-image';
  const key = await bench.channel('gemini', model, { other: 'v1' });
  const parts = [{ text: 'here it is' }, { inlineData: { mimeType: 'image/png', data: image } }];
  bench.script((response) =>
    sendJson(response, {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1290, totalTokenCount: 1300 },
    }),
  );
  const ask = { model, prompt: 'a dot', size: '1024x1792' };
  expect(await (await bench.post('/v1/images/generations', key, ask)).json()).toMatchObject({
    data: [{ b64_json: image }],
    usage: { input_tokens: 10, output_tokens: 1290, total_tokens: 1300 },
  });
  expect(bench.sent().path).toBe(`/v1/models/${model}:generateContent`);
  expect(bench.sent().body).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'a dot' }] }],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '9:16' } },
  });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 10, completion_tokens: 1290, usage_source: 'reported' });
  bench.script((response) => sendJson(response, { candidates: [{ finishReason: 'IMAGE_SAFETY' }] }));
  const rejected = await bench.post('/v1/images/generations', key, ask);
  expect(rejected.status).toBe(400);
  expect(await rejected.text()).toContain('IMAGE_SAFETY');
});

test('Imagen on Vertex, at the project’s place', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const account = JSON.stringify({
    project_id: 'proj',
    client_email: 'a@proj.example',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    private_key_id: crypto.randomUUID(),
    token_uri: `${bench.upstream.url}/token`,
  });
  const key = await bench.channel('vertex', 'imagen-3.0-generate-002', { key: account, other: 'europe-west1' });
  bench.script((response, { path }) =>
    sendJson(
      response,
      path === '/token'
        ? { access_token: 'ya29', expires_in: 3600 }
        : { predictions: [{ bytesBase64Encoded: image, mimeType: 'image/png' }] },
    ),
  );
  const ask = { model: 'imagen-3.0-generate-002', prompt: 'a dot' };
  expect(await (await bench.post('/v1/images/generations', key, ask)).json()).toMatchObject({
    data: [{ b64_json: image }],
  });
  expect(bench.sent(1).path).toBe(
    '/v1/projects/proj/locations/europe-west1/publishers/google/models/imagen-3.0-generate-002:predict',
  );
  expect(bench.sent(1).headers.authorization).toBe('Bearer ya29');
  expect(bench.sent(1).body).toEqual({ instances: [{ prompt: 'a dot' }], parameters: { sampleCount: 1 } });
});

test('PaLM: context and turns of two authors, one piece delivered as a stream', async () => {
  const key = await bench.channel('palm', 'PaLM-2');
  bench.script((response) => sendJson(response, { candidates: [{ author: '1', content: 'hello' }] }));
  const messages = [{ role: 'system', content: 'be brief' }, ...hi, { role: 'assistant', content: 'yes?' }, ...hi];
  const response = await bench.gateway.chat(key, {
    model: 'PaLM-2',
    messages,
    temperature: 0.5,
    top_p: 0.9,
    stream: true,
  });
  const text = await response.text();
  expect(text).toContain('"content":"hello"');
  expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  expect(bench.sent().path).toBe('/v1beta2/models/chat-bison-001:generateMessage');
  expect(bench.sent().headers['x-goog-api-key']).toBe('sk-upstream-secret-key');
  expect(bench.sent().body).toEqual({
    prompt: {
      context: 'be brief',
      messages: [
        { author: '0', content: 'hi' },
        { author: '1', content: 'yes?' },
        { author: '0', content: 'hi' },
      ],
    },
    temperature: 0.5,
    topP: 0.9,
  });
  expect(await bench.log()).toMatchObject({ usage_source: 'estimated', end_reason: 'completed' });
  bench.script((response) => sendJson(response, { filters: [{ reason: 'SAFETY' }] }));
  expect(await (await bench.gateway.chat(key, { model: 'PaLM-2', messages: hi })).json()).toMatchObject({
    choices: [{ finish_reason: 'content_filter' }],
  });
  bench.script((response) =>
    sendJson(response, { error: { code: 400, message: 'too long', status: 'INVALID_ARGUMENT' } }, 400),
  );
  const rejected = await bench.gateway.chat(key, { model: 'PaLM-2', messages: hi });
  expect([rejected.status, await rejected.text()]).toEqual([400, expect.stringContaining('too long')]);
});
