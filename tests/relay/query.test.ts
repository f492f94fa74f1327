import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) =>
    sendJson(response, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-3-5-haiku-latest',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 1 },
    }),
  );
  await gateway.option('ModelRatio', '{"claude-3-5-haiku-latest":0.4}');
  await gateway.channel(upstream.url, { type: 14, models: 'claude-3-5-haiku-latest' });
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

test.each([
  ['?beta=true&key=KEY', '?beta=true'],
  ['?key=KEY&beta=true&x=1', '?beta=true&x=1'],
  ['?key=KEY', ''],
  ['?key=KEY&key=KEY', ''],
])('a key in the query lets its owner in and stays here: %s', async (query, expected) => {
  const url = `http://gateway/v1/messages${query.replaceAll('KEY', `sk-${key}`)}`;
  const response = await gateway.relay.handle(
    new Request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: 'claude-3-5-haiku-latest',
        max_tokens: 16,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    }),
    '/v1/messages',
    { ip: () => '127.0.0.1' },
  );
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  expect(upstream.requests.map(({ path }) => path)).toEqual([`/v1/messages${expected}`]);
  expect(JSON.stringify(upstream.requests[0]?.headers)).not.toContain(key);
});
