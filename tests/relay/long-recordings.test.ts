/** Recordings of tens of megabytes: all of their sound is charged, wherever in the file it is thin. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, { text: 'hi' }));
  await gateway.option('ModelRatio', '{"whisper-1":15}');
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

/** So many seconds of MP3, all frames alike. Source of the rates: ISO/IEC 11172-3 and 13818-3, 2.4.2.3. */
function mp3(head: readonly number[], frameBytes: number, frameSeconds: number, seconds: number): Buffer {
  const frame = Buffer.alloc(frameBytes);
  frame.set(head);
  return Buffer.alloc(frameBytes * Math.round(seconds / frameSeconds), frame);
}
/** MPEG-1 at 48 kHz, 320 kbit/s: 40,000 bytes a second. */
const fat = (seconds: number) => mp3([0xff, 0xfb, 0xe4, 0xc4], 960, 0.024, seconds);
/** MPEG-2 at 24 kHz, 8 kbit/s: 1,000 bytes a second. */
const thin = (seconds: number) => mp3([0xff, 0xf3, 0x14, 0xc4], 24, 0.024, seconds);

const transcribe = async (recording: Buffer) => {
  const { key } = await gateway.token();
  const part = (headers: string) => `--b\r\nContent-Disposition: form-data; ${headers}\r\n\r\n`;
  const bytes = Buffer.concat([
    Buffer.from(`${part('name="model"')}whisper-1\r\n${part('name="file"; filename="a.mp3"')}`),
    recording,
    Buffer.from('\r\n--b--\r\n'),
  ]);
  let at = 0;
  // In pieces of 64 KiB, as they come from a socket.
  const pieces = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + 65_536)));
      at += 65_536;
    },
  });
  const headers = {
    authorization: `Bearer sk-${key}`,
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': String(bytes.length),
  };
  const request = new Request('http://gateway/v1/audio/transcriptions', { method: 'POST', headers, body: pieces });
  const response = await gateway.relay.handle(request, '/v1/audio/transcriptions', { ip: () => '127.0.0.1' });
  await response.text();
  return response.status;
};

/** What a minute costs: 1,000 tokens at the ratio of 15. */
const perSecond = (1000 * 15) / 60;

test('a recording that begins fat and goes on thin is held and charged for all that a decoder plays', async () => {
  let held = 0;
  const start = await gateway.balance();
  const available = () => gateway.balances.account(gateway.userId, 0).available();
  const before = available();
  upstream.script((response) => {
    held = before - available();
    sendJson(response, { text: 'hi' });
  });
  await gateway.channel(upstream.url, { models: 'whisper-1' });
  const played = 220 + 1200;
  expect(await transcribe(Buffer.concat([fat(220), thin(1200)]))).toBe(200);
  const charged = start - (await gateway.balance());
  expect(charged).toBeGreaterThanOrEqual(played * perSecond);
  expect(charged).toBeLessThanOrEqual(1.01 * played * perSecond);
  expect(held).toBeGreaterThanOrEqual(charged);
  expect(await gateway.verify()).toEqual([]);
});

test('a long honest recording is charged for its length', async () => {
  await gateway.channel(upstream.url, { models: 'whisper-1' });
  const start = await gateway.balance();
  expect(await transcribe(fat(300))).toBe(200);
  const charged = start - (await gateway.balance());
  expect(charged).toBeGreaterThanOrEqual(300 * perSecond);
  expect(charged).toBeLessThan(302 * perSecond);
});
