/** Upstreams that compress although they were asked not to, and event streams under other names or with single newlines. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  gateway = await createTestGateway();
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  await gateway.channel(upstream.url, { type: 14, models: 'claude-x' });
  await gateway.option('ModelRatio', '{"gpt-4o-mini":1,"claude-x":1}');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

async function send(stream: boolean, model = 'gpt-4o-mini') {
  const body = { model, stream, messages: [{ role: 'user', content: 'hi' }] };
  const response = await gateway.chat(key, body);
  const text = await response.text();
  const row = (await gateway.logs())[0];
  return { status: response.status, encoding: response.headers.get('content-encoding'), text, row };
}

const attemptsOf = (row: Awaited<ReturnType<typeof send>>['row']): string =>
  JSON.stringify((JSON.parse(String(row?.other)) as { admin_info: { attempts?: unknown } }).admin_info.attempts);

const answering = (type: string | null, body: string | Uint8Array, more: Record<string, string> = {}) =>
  upstream.script((response) => {
    response.writeHead(200, { ...(type === null ? {} : { 'content-type': type }), ...more });
    response.end(body);
  });

const codings: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  'deflate without its header': deflateRawSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chunk = (content: string | null, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o-mini',
  choices: content === null ? [] : [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});
const last = { ...chunk(null), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage };
const events = [chunk('hello '), chunk('wörld'), last]
  .map((one) => `data: ${JSON.stringify(one)}`)
  .concat('data: [DONE]');
const stream = events.map((line) => `${line}\n\n`).join('');

test.each(Object.keys(codings))('%s without a request for it is unpacked, whole and streamed', async (name) => {
  const headers = { 'content-encoding': name.split(' ')[0] ?? '' };
  answering('application/json', codings[name]?.(JSON.stringify(completion(10, 5))) ?? '', headers);
  const whole = await send(false);
  expect(whole).toMatchObject({ status: 200, encoding: null, text: JSON.stringify(completion(10, 5)) });
  expect(whole.row).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, usage_source: 'reported' });
  answering('text/event-stream', codings[name]?.(stream) ?? '', headers);
  const streamed = await send(true);
  expect(streamed).toMatchObject({ status: 200, encoding: null });
  expect(streamed.text).toContain('wörld');
  expect(streamed.row).toMatchObject({ completion_tokens: 5, usage_source: 'reported', end_reason: 'completed' });
});

test('codings one on the other are unpacked in their order', async () => {
  const text = JSON.stringify(completion(10, 5));
  answering('application/json', brotliCompressSync(gzipSync(text)), { 'content-encoding': 'gzip, br' });
  expect(await send(false)).toMatchObject({ status: 200, text });
});

test('the message of a packed error is read', async () => {
  upstream.script((response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync(JSON.stringify({ error: { message: 'max_tokens is too large' } })));
  });
  expect((await send(false)).text).toContain('max_tokens is too large');
});

test('a packed stream is passed on as it comes', async () => {
  const { createGzip, constants } = await import('node:zlib');
  let goOn = () => undefined as unknown;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    const packer = createGzip();
    packer.pipe(response);
    packer.write(`${events[0]}\n\n`);
    packer.flush(constants.Z_SYNC_FLUSH);
    goOn = () =>
      packer.end(
        events
          .slice(1)
          .map((line) => `${line}\n\n`)
          .join(''),
      );
  });
  const body = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] };
  const response = await gateway.chat(key, body);
  const reader = response.body?.getReader();
  const first = new TextDecoder().decode((await reader?.read())?.value);
  expect(first).toContain('hello ');
  expect(first).not.toContain('wörld');
  goOn();
  let rest = '';
  for (;;) {
    const read = await reader?.read();
    if (read?.value !== undefined) rest += new TextDecoder().decode(read.value);
    if (read?.done !== false) break;
  }
  expect(rest).toContain('wörld');
});

test('an unknown coding, and packed bytes that are broken, are named in the log', async () => {
  answering('application/json', 'xxxx', { 'content-encoding': 'snappy' });
  const unknown = await send(false);
  expect(unknown.status).toBe(502);
  expect(attemptsOf(unknown.row)).toContain('snappy');
  answering('application/json', 'xxxx', { 'content-encoding': 'gzip' });
  expect((await send(false)).status).toBe(502);
  expect(gateway.relay.open()).toBe(0);
});

test.each(['text/plain', 'application/octet-stream', 'application/json', null])(
  'events under the content type %s are events',
  async (type) => {
    answering(type, stream);
    const streamed = await send(true);
    expect(streamed.status).toBe(200);
    expect(streamed.text).toContain('wörld');
    expect(streamed.row).toMatchObject({ completion_tokens: 5, usage_source: 'reported', end_reason: 'completed' });
  },
);

test('events under another content type for a client that wants one piece', async () => {
  answering('text/plain', stream);
  const whole = await send(false);
  expect(whole.status).toBe(200);
  expect(whole.text).toContain('hello wörld');
});

test.each([
  ['at once', (text: string) => [text]],
  ['line by line', (text: string) => text.split(/(?<=\n)/)],
  ['byte by byte', (text: string) => [...Buffer.from(text)].map((byte) => Buffer.from([byte]))],
])('single newlines between events, %s', async (_name, cut) => {
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of cut(events.map((line) => `${line}\n`).join(''))) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const { status, text, row } = await send(true);
  expect(status).toBe(200);
  // Clients of this dialect want blank lines.
  expect(text.split('\n\n').filter((frame) => frame.startsWith('data: '))).toHaveLength(events.length);
  expect(text).toContain('wörld');
  expect(row).toMatchObject({ completion_tokens: 5, usage_source: 'reported', end_reason: 'completed' });
});

test('single newlines between events that have names', async () => {
  const named = [
    ['message_start', { message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 10 } } }],
    ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }],
    ['message_stop', {}],
  ] as const;
  const text = named.map(([type, more]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n`).join('');
  answering('text/event-stream', text);
  const streamed = await send(true, 'claude-x');
  expect(streamed.status).toBe(200);
  expect(streamed.text).toContain('hello');
  expect(streamed.row).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, end_reason: 'completed' });
});

test('an event whose data takes several lines stays one event', async () => {
  const lines = JSON.stringify(chunk('hello'), null, 1)
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('');
  answering(
    'text/event-stream',
    `${lines}\n${events
      .slice(2)
      .map((line) => `${line}\n\n`)
      .join('')}`,
  );
  const { status, text, row } = await send(true);
  expect(status).toBe(200);
  expect(text).toContain(lines);
  expect(row).toMatchObject({ completion_tokens: 5, end_reason: 'completed' });
});

test('an answer that is neither JSON nor events is refused, and the log names its content type', async () => {
  answering('text/html; charset=utf-8', '<html>welcome</html>');
  for (const streamed of [true, false]) {
    const { status, row } = await send(streamed);
    expect(status).toBe(502);
    expect(attemptsOf(row)).toContain('text/html');
  }
});

test.each([201, 203, 206, 226])('a whole and a streamed answer under %i reach the client as 200', async (code) => {
  for (const streamed of [false, true]) {
    upstream.script((response) => {
      response.writeHead(code, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
      response.end(streamed ? stream : JSON.stringify(completion(3, 2)));
    });
    const { status, row } = await send(streamed);
    expect([status, row?.end_reason, row?.usage_source]).toEqual([200, 'completed', 'reported']);
  }
});

test.each([204, 205])('an answer that says with %i that there is none is empty, not broken off', async (code) => {
  upstream.script((response) => {
    response.writeHead(code);
    response.end();
  });
  for (const stream of [false, true]) {
    const { status, text, row } = await send(stream);
    expect(status).toBe(502);
    expect(text).toContain('upstream_invalid');
    expect(row).toMatchObject({ quota: 0, end_reason: 'upstream_failed' });
    expect(attemptsOf(row)).toContain('"reason":"empty"');
  }
});

test('a byte order mark in front of a request is no part of it', async () => {
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(completion(3, 2)));
  });
  const body = '{"model":"gpt-4o-mini",  "messages":[{"role":"user","content":"\uFEFFhi"}]}';
  const answer = await gateway.send(key, '/v1/chat/completions', `\uFEFF${body}`);
  expect(answer.status).toBe(200);
  await answer.text();
  expect(upstream.requests.at(-1)?.body.toString('utf8')).toBe(body);
  expect((await gateway.send(key, '/v1/chat/completions', `\uFEFF\uFEFF${body}`)).status).toBe(400);
});
