/** One model of a channel that fails beside one that answers, over a gateway. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const failing = 'gpt-4o';
const sound = 'gpt-4o-mini';
const atOnce = 16;

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let fail: (response: ServerResponse) => void;
const script = (response: ServerResponse, request: { readonly body: Buffer }) => {
  const { model } = JSON.parse(request.body.toString()) as { model: string };
  if (model === sound) sendJson(response, completion(3, 2));
  else fail(response);
};

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(script);
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = async (model: string, n: number): Promise<number> => {
  const response = await gateway.chat(key, { model, messages: [{ role: 'user', content: `talk ${n}` }] });
  await response.text();
  return response.status;
};

test.each([
  ['500', (response: ServerResponse) => sendJson(response, { error: { message: 'down' } }, 500)],
  ['404', (response: ServerResponse) => sendJson(response, { error: { message: 'no such model' } }, 404)],
  ['429', (response: ServerResponse) => sendJson(response, { error: { message: 'slow' } }, 429)],
])('a hundred requests that end with %s leave another model of the channels as it was', async (name, how) => {
  fail = how;
  const ids = [
    await gateway.channel(upstream.url, { models: `${failing},${sound}` }),
    await gateway.channel(upstream.url, { models: `${failing},${sound}` }),
  ];
  const statuses: number[] = [];
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < 100; n = next++) {
      expect(await ask(failing, n)).not.toBe(200);
      statuses.push(await ask(sound, n));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  expect(statuses).toHaveLength(100);
  expect(statuses.every((status) => status === 200)).toBe(true);
  expect(gateway.relay.channelStatuses(ids, sound)).toEqual(ids.map(() => ({ condition: 'up', waitMs: 0 })));
  const condition = name === '429' ? 'cooling' : 'ejected';
  expect(gateway.relay.channelStatuses(ids, failing)).toMatchObject(ids.map(() => ({ condition })));
  // Each request for the sound model met its first channel.
  const sent = upstream.requests.filter(
    ({ body }) => (JSON.parse(body.toString()) as { model: string }).model === sound,
  );
  expect(sent).toHaveLength(100);
  expect(gateway.troubles).toEqual([]);
});
