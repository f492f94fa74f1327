/** Bodies that clients pack: read, billed and passed on as if they had come plain, and never larger than those may be. */
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
const limit = 256 * 1024;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  gateway = await createTestGateway({ limits: { bodyLimit: limit } });
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,whisper-1' });
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const codings = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  ' GZIP ': gzipSync,
  deflate: deflateSync,
  'deflate without header': deflateRawSync,
  // The best it can do takes a minute for the bomb.
  br: (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: zstdCompressSync,
} as const;
const names = Object.keys(codings) as (keyof typeof codings)[];
const headerOf = (name: string) => (name.startsWith('deflate') ? 'deflate' : name);

const hello = [{ role: 'user', content: 'hello' }];
const requests = {
  'openai-chat': ['/v1/chat/completions', { model: 'gpt-4o-mini', messages: hello }],
  'openai-responses': ['/v1/responses', { model: 'gpt-4o-mini', input: 'hello' }],
  'anthropic-messages': ['/v1/messages', { model: 'gpt-4o-mini', max_tokens: 9, messages: hello }],
  'gemini-generate': [
    '/v1beta/models/gpt-4o-mini:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  ],
  'ollama-chat': ['/api/chat', { model: 'gpt-4o-mini', stream: false, messages: hello }],
  'cohere-chat': ['/v2/chat', { model: 'gpt-4o-mini', messages: hello }],
} as const;

async function post(path: string, body: Uint8Array, headers: Record<string, string>) {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
    body: new Uint8Array(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, body: (await response.json()) as { error?: { code?: unknown } } };
}

test.each(names)('%s: read, and passed on plain', async (name) => {
  const [path, body] = requests['openai-chat'];
  const text = JSON.stringify(body);
  const answer = await post(path, codings[name](Buffer.from(text)), { 'content-encoding': headerOf(name) });
  expect(answer.status).toBe(200);
  const [sent] = upstream.requests;
  expect(sent?.body.toString()).toBe(text);
  expect(sent?.headers['content-encoding']).toBeUndefined();
});

test.each(Object.entries(requests))(
  '%s clients may pack, and unknown codings are refused',
  async (_name, [path, body]) => {
    const bytes = Buffer.from(JSON.stringify(body));
    expect((await post(path, gzipSync(bytes), { 'content-encoding': 'gzip' })).status).toBe(200);
    expect((await post(path, bytes, { 'content-encoding': 'identity' })).status).toBe(200);
    for (const coding of ['compress', 'gzip, br', 'constructor'])
      expect((await post(path, bytes, { 'content-encoding': coding })).status, coding).toBe(415);
  },
);

test('the members that are billed are those of the unpacked body', async () => {
  const [path, body] = requests['openai-chat'];
  const twice = `{"model":"other","model":"gpt-4o-mini","messages":${JSON.stringify(hello)}}`;
  expect((await post(path, gzipSync(twice), { 'content-encoding': 'gzip' })).body.error?.code).toBe('body_invalid');
  const poor = gzipSync(JSON.stringify({ ...body, max_tokens: 100_000_000 }));
  const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  const headers = { authorization: `Bearer sk-${key}`, 'content-encoding': 'gzip' };
  expect((await post(path, poor, headers)).status).toBe(403);
  expect(upstream.requests).toHaveLength(0);
});

test.each(names)('%s: a bomb is refused before it has unfolded', async (name) => {
  const bomb = codings[name](Buffer.alloc(128 * 1024 * 1024));
  const before = process.memoryUsage().rss;
  const answer = await post('/v1/chat/completions', bomb, { 'content-encoding': headerOf(name) });
  expect(answer).toMatchObject({ status: 413, body: { error: { code: 'body_too_large' } } });
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
});

test('broken data is refused', async () => {
  const packed = gzipSync(JSON.stringify(requests['openai-chat'][1]));
  for (const bytes of [packed.subarray(0, -6), Buffer.from('no such thing')])
    expect(await post('/v1/chat/completions', bytes, { 'content-encoding': 'gzip' })).toMatchObject({ status: 400 });
});

test('a form may be packed too', async () => {
  await gateway.option('ModelRatio', '{"whisper-1":15}');
  upstream.script((response) => sendJson(response, { text: 'hello' }));
  const part = (name: string, value: string) => `--m\r\nContent-Disposition: form-data; ${name}\r\n\r\n${value}\r\n`;
  const bytes = Buffer.from(
    `${part('name="model"', 'whisper-1')}${part('name="file"; filename="a.wav"', 'x'.repeat(1000))}--m--\r\n`,
  );
  const answer = await post('/v1/audio/transcriptions', gzipSync(bytes), {
    'content-type': 'multipart/form-data; boundary=m',
    'content-encoding': 'gzip',
  });
  expect(answer).toEqual({ status: 200, body: { text: 'hello' } });
  expect(Buffer.compare(upstream.requests[0]?.body ?? Buffer.alloc(0), bytes)).toBe(0);
});
