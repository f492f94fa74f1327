/** What a browser may make of a relayed answer: nothing but what it says it is. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
const models = 'gpt-4o-mini,tts-1,whisper-1,m';

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(1, 1)));
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const peer = { ip: () => '127.0.0.1' };
const send = (path: string, init: RequestInit = {}) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      ...init,
      headers: { authorization: `Bearer sk-${key}`, ...(init.headers as Record<string, string> | undefined) },
    }),
    new URL(`http://gateway${path}`).pathname,
    peer,
  );
const post = (path: string, body: unknown) => send(path, { method: 'POST', body: JSON.stringify(body) });
const expectSealed = (response: Response, cache = 'no-store') =>
  expect({
    nosniff: response.headers.get('x-content-type-options'),
    csp: response.headers.get('content-security-policy'),
    cache: response.headers.get('cache-control'),
    cookie: response.headers.get('set-cookie'),
  }).toEqual({ nosniff: 'nosniff', csp: "default-src 'none'; sandbox", cache, cookie: null });

const bytes = 'application/octet-stream';
const types: readonly (readonly [string, string])[] = [
  ['text/html', bytes],
  ['text/html; charset=utf-8', bytes],
  ['TEXT/HTML', bytes],
  ['text/html, audio/mpeg', bytes],
  ['audio/mpeg, text/html', bytes],
  ['image/svg+xml', bytes],
  ['image/svg+xml;charset=utf-8', bytes],
  ['application/xhtml+xml', bytes],
  ['application/xml', bytes],
  ['text/xml', bytes],
  ['text/javascript', bytes],
  ['application/javascript', bytes],
  ['text/css', bytes],
  ['multipart/x-mixed-replace; boundary=x', bytes],
  ['message/rfc822', bytes],
  ['application/x-shockwave-flash', bytes],
  ['nonsense', bytes],
  ['audio/mpeg', 'audio/mpeg'],
  ['audio/L16;rate=24000', 'audio/L16;rate=24000'],
  ['audio/ogg; codecs=opus', 'audio/ogg; codecs=opus'],
  ['image/png', 'image/png'],
  ['video/mp4', 'video/mp4'],
  ['text/plain; charset=utf-8', 'text/plain; charset=utf-8'],
  ['text/vtt', 'text/plain; charset=utf-8'],
  ['application/x-subrip', 'text/plain; charset=utf-8'],
  ['application/octet-stream', bytes],
];

describe('the type of an answer', () => {
  test.each(types)('%s is returned as %s', async (original, displayed) => {
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': original, 'set-cookie': 'session=evil', 'x-upstream': 'who' });
      response.end('<script>alert(1)</script>');
    });
    await gateway.channel(upstream.url, { models });
    const response = await post('/v1/audio/speech', { model: 'tts-1', input: 'hi', voice: 'alloy' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(displayed);
    expect(response.headers.get('x-upstream')).toBeNull();
    expectSealed(response);
    expect(await response.text()).toBe('<script>alert(1)</script>');
  });

  test('JSON is JSON, whatever the upstream calls it', async () => {
    await gateway.channel(upstream.url, { models });
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(JSON.stringify(completion(1, 1)));
    });
    const response = await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expectSealed(response);
  });

  test('a translated response has what the item was turned into', async () => {
    await gateway.channel(upstream.url, { type: 14, models: 'gpt-4o-mini' });
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.upstream+json' });
      const content = [{ type: 'text', text: 'hi' }];
      const usage = { input_tokens: 1, output_tokens: 1 };
      response.end(
        JSON.stringify({ id: 'm', type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage }),
      );
    });
    const response = await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
    expectSealed(response);
  });
});

test('every answer of the relay is sealed', async () => {
  await gateway.channel(upstream.url, { models });
  const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
  const answers = {
    chat: await post('/v1/chat/completions', ask),
    'playground, refused': await post('/pg/chat/completions', ask),
    playground: await gateway.relay.handle(
      new Request('http://gateway/pg/chat/completions', { method: 'POST', body: JSON.stringify(ask) }),
      '/pg/chat/completions',
      peer,
    ),
    models: await send('/v1/models'),
    billing: await send('/v1/dashboard/billing/subscription'),
    'no such path': await post('/v1/nothing', {}),
    'no JSON': await send('/v1/chat/completions', { method: 'POST', body: '{' }),
    'no key': await send('/v1/models', { headers: { authorization: '' } }),
    drawing: await send('/mj/image/none'),
    'drawing task': await send('/mj/task/none/fetch'),
    song: await send('/suno/fetch/none'),
    'no such song': await post('/suno/submit/nothing', {}),
  };
  for (const [name, response] of Object.entries(answers)) {
    expectSealed(response);
    expect(response.headers.get('content-type'), name).toMatch(/^application\/json/);
  }
  expect(answers.chat.status).toBe(200);
  expect(answers.playground.status).toBe(200);
  const socket = await gateway.relay.realtime(new Request('http://gateway/v1/realtime?model=m'), peer);
  if (!(socket instanceof Response)) throw new Error('no key was needed');
  expectSealed(socket);
});

test('headers of a stream are sealed, and it stays a stream', async () => {
  await gateway.channel(upstream.url, { models });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b' });
    response.end(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    );
  });
  const response = await gateway.chat(key, {
    model: 'gpt-4o-mini',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expectSealed(response, 'no-store, no-transform');
  await response.text();
});
