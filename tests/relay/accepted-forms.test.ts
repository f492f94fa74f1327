/** What a client accepts goes upstream as long as the answer can be read here: a form of its choice must not make the upstream work unpaid, nor look broken. */
import { expect, test } from 'vitest';
import { createTestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

test.each([
  ['application/json', 'application/json'],
  ['*/*', '*/*'],
  ['application/json, text/event-stream;q=0.9', 'application/json, text/event-stream;q=0.9'],
  ['audio/mpeg', 'audio/mpeg'],
  // Of OpenAI's SDK for speech.
  ['application/octet-stream', 'application/octet-stream'],
  ['application/x-protobuf', '*/*'],
  ['application/json, application/x-protobuf', '*/*'],
  ['application/x-protobuf;application/json', '*/*'],
])('%s', async (accept, expected) => {
  const gateway = await createTestGateway();
  const upstream = await startUpstream((response) => sendJson(response, completion(10, 1)));
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
  expect((await gateway.chat(key, body, { accept })).status).toBe(200);
  // Without a word of ours the network library takes everything.
  expect(upstream.requests[0]?.headers.accept).toBe(expected);
  await gateway.close();
  await upstream.stop();
});
