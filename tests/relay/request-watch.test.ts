/** Observers of open requests are notified of each: its body came, its response goes on, its last byte leaves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
const received: string[] = [];

beforeAll(async () => {
  gateway = await createTestGateway({
    relay: {
      watch: {
        onReceived: () => void received.push('heard'),
        onStreaming: () => void received.push('lasting'),
        over: () => void received.push('over'),
      },
    },
  });
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,tts-1' });
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const hello = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const frame = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] };

test.each([
  [
    'a whole answer',
    '/v1/chat/completions',
    hello,
    'application/json',
    JSON.stringify(completion(1, 1)),
    ['heard', 'over'],
  ],
  [
    'a stream',
    '/v1/chat/completions',
    { ...hello, stream: true },
    'text/event-stream',
    `data: ${JSON.stringify(frame)}\n\ndata: [DONE]\n\n`,
    ['heard', 'lasting', 'over'],
  ],
  [
    'bytes as they come',
    '/v1/audio/speech',
    { model: 'tts-1', input: 'hi', voice: 'alloy' },
    'audio/mpeg',
    'sound',
    ['heard', 'lasting', 'over'],
  ],
] as const)('%s', async (_name, path, body, type, text, events) => {
  received.length = 0;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(text);
  });
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  await expect.poll(() => received).toEqual(events);
});
