/** Keys that buy tokens from their provider: what the seller refuses is the key's fault, what keeps it from selling is not. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeServiceAccount } from '../doubles/doubles/vertex.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let made = 0;

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  await gateway.option('SelfUseModeEnabled', 'true');
  ({ key } = await gateway.token());
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

async function ask(sell: (response: ServerResponse) => void, seller = `${upstream.url}/token`) {
  const model = `gemini-3-flash-${++made}`;
  upstream.script((response, { path }) =>
    path === '/token'
      ? sell(response)
      : sendJson(response, { candidates: [{ content: { parts: [{ text: 'yes' }] }, finishReason: 'STOP' }] }),
  );
  const { json } = makeServiceAccount(seller);
  const id = await gateway.channel(upstream.url, { type: 41, models: model, key: json });
  const response = await gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  const [status] = gateway.relay.channelStatuses([id]);
  const row = await gateway.lastLog();
  return { status: response.status, error, condition: status?.condition, row };
}

const answer = (status: number, body: string) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body);
};

test.each([500, 502, 503, 429, 408])('a seller that answers %i leaves the key alone', async (status) => {
  const met = await ask(answer(status, '{"error":"busy"}'));
  expect(met.error?.code).toBe('upstream_unreachable');
  expect(met.condition).toBe('up');
  expect(String(met.row?.other)).toContain(`no access token: HTTP ${status}`);
});

test.each<readonly [string, (response: ServerResponse) => void]>([
  ['breaks off', (response) => response.destroy()],
  ['answers what is no JSON', answer(200, '<html>')],
])('a seller that %s leaves the key alone', async (_how, sell) => {
  const met = await ask(sell);
  expect(met.error?.code).toBe('upstream_unreachable');
  expect(met.condition).toBe('up');
});

test('a seller that is not there leaves the key alone, and nothing of its address is said', async () => {
  const met = await ask(() => undefined, 'http://127.0.0.1:9/token');
  expect(met.error?.code).toBe('upstream_unreachable');
  expect(met.condition).toBe('up');
  expect(String(met.row?.other)).toMatch(/no access token: \w+/);
  expect(JSON.stringify(met)).not.toContain('127.0.0.1:9');
});

test.each<readonly [string, number, string]>([
  ['400', 400, '{"error":"invalid_grant"}'],
  ['401', 401, '{"error":"invalid_client"}'],
  ['an answer without a token', 200, '{"error":"invalid_grant"}'],
])('a seller that refuses the key with %s says so of the key', async (_what, status, body) => {
  const met = await ask(answer(status, body));
  expect(met.error?.code).toBe('upstream_key');
  expect(met.condition).toBe('cooling');
});
