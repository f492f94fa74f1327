/** What strangers hear of how models do: a word for each model of the price list, and no figures. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Actor } from '../../server/http/call.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let now = Date.now();
beforeEach(async () => {
  gateway = await createTestGateway({ now: () => now });
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const anonymous: Actor = { via: 'anonymous', userId: 0, username: '', role: 0, group: '' };
const levels = () => gateway.call('status.models', {}, anonymous);

test('a model that answers serves, one without requests is quiet, and what is not for sale is not named', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-4o' });
  await gateway.channel(upstream.url, { models: 'secret-model', group: 'hidden' });
  const { key } = await gateway.token();
  await gateway.sync();
  const ask = async () => (await gateway.chat(key, { model: 'gpt-4o-mini', messages: [] })).text();
  const keep = async () => {
    gateway.services.trafficRecorder.add(gateway.relay.takeTraffic());
    await gateway.services.trafficRecorder.flush();
  };
  await ask();
  await keep();
  expect(await levels()).toEqual({ 'gpt-4o-mini': 'good', 'gpt-4o': 'none' });

  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 500));
  for (let n = 0; n < 3; n++) await ask();
  await keep();
  // Strangers are answered from what was read a moment ago.
  expect(await levels()).toMatchObject({ 'gpt-4o-mini': 'good' });
  now += 30_000;
  expect(await levels()).toMatchObject({ 'gpt-4o-mini': 'bad' });
});
