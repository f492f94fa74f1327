/** A recording is paid by its length, so it must come with the request: what is only named by its address would be charged as a word. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end('two hours of words');
  });
  await gateway.option('ModelRatio', '{"whisper-1":15}');
  await gateway.channel(upstream.url, { models: 'whisper-1' });
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const address = 'https://recordings.example/two-hours.mp3';
const ask = async (path: string, body: FormData | string) => {
  const { key } = await gateway.token();
  const response = await gateway.send(key, path, body);
  await response.text();
  return response.status;
};
const form = (fields: Readonly<Record<string, string | Blob>>): FormData => {
  const made = new FormData();
  made.set('model', 'whisper-1');
  made.set('response_format', 'text');
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
};
const file = new Blob([new Uint8Array(8_000)]);

test.each<readonly [string, FormData | string]>([
  ['a word in the place of the file', form({ file: address })],
  ['a field of its own', form({ url: address })],
  ['a field beside a short file', form({ file, audio_url: address })],
  ['no file at all', form({})],
  ['JSON', JSON.stringify({ model: 'whisper-1', file: address, response_format: 'text' })],
])('%s', async (_name, body) => {
  for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) expect(await ask(path, body)).toBe(400);
  expect(upstream.requests).toEqual([]);
});

test('a file is taken', async () => {
  expect(await ask('/v1/audio/transcriptions', form({ file }))).toBe(200);
});
