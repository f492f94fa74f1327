/** A form goes to the next channel when the first one is down, however large it is. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let first: Upstream;
let second: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  first = await startUpstream((response) => sendJson(response, { error: { message: 'down' } }, 503));
  second = await startUpstream((response) => sendJson(response, { text: 'hi' }));
  await gateway.option('ModelRatio', '{"whisper-1":15}');
  await gateway.option('RetryTimes', '3');
  await gateway.channel(first.url, { name: 'first', models: 'whisper-1', priority: 10 });
  await gateway.channel(second.url, { name: 'second', models: 'whisper-1' });
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await first.stop();
  await second.stop();
});

const mark = 'xxMARKxx';
const part = (headers: string, value: string): string =>
  `--${mark}\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${value}\r\n`;

/** In pieces of 64 KiB, as they come from a socket. */
function piecesOf(text: string): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text, 'latin1');
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + 65_536)));
      at += 65_536;
    },
  });
}

const transcribe = (recording: string) =>
  gateway.relay.handle(
    new Request('http://gateway/v1/audio/transcriptions', {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': `multipart/form-data; boundary=${mark}` },
      body: piecesOf(
        `${part('name="model"', 'whisper-1')}${part('name="file"; filename="a.mp3"', recording)}--${mark}--\r\n`,
      ),
    }),
    '/v1/audio/transcriptions',
    { ip: () => '127.0.0.1' },
  );

test.each([
  ['small', 'small'],
  ['of 12 MiB', 'x'.repeat(12 << 20)],
])('a form that is %s goes to the next channel when the first is down', async (_, recording) => {
  expect((await transcribe(recording)).status).toBe(200);
  expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  expect(second.requests[0]?.body.equals(first.requests[0]?.body ?? Buffer.alloc(0))).toBe(true);
  expect((await gateway.logs()).filter(({ quota }) => quota > 0)).toHaveLength(1);
  expect(await gateway.verify()).toEqual([]);
});
