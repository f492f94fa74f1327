import { afterEach, beforeEach, expect, test } from 'vitest';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';
import { runChannelTest } from '../../server/relay/channel-test.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';

let gateway: TestGateway;
let practice: PracticeUpstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  practice = startPracticeUpstream({ port: 0 });
});
afterEach(async () => {
  await gateway.close();
  await practice.stop();
});

test.each([
  ['practice-small', false],
  ['practice-small', true],
  ['text-embedding-3-small', false],
  ['bge-reranker-v2', false],
  ['dall-e-3', false],
  ['tts-1', false],
  ['text-moderation-latest', false],
])('%s, stream %s: asked by its kind, logged, free', async (model, stream) => {
  const id = await gateway.channel(practice.url, { type: 199, models: model });
  const before = await gateway.balance();
  const result = await runChannelTest(gateway.relay, gateway.state, { channelId: id, model, stream }, Date.now);
  expect(result).toMatchObject({ ok: true, message: '' });
  expect(result.firstTokenMs).toBeLessThanOrEqual(result.ms);
  expect(await gateway.balance()).toBe(before);
  expect((await gateway.logs())[0]).toMatchObject({ model_name: model, quota: 0 });
});

test('drawing channels are not tested, because a test would cost money', async () => {
  const id = await gateway.channel(practice.url, { type: 2, models: 'mj_imagine' });
  const order = { channelId: id, model: 'mj_imagine', stream: false };
  expect(await runChannelTest(gateway.relay, gateway.state, order, Date.now)).toMatchObject({
    ok: false,
    message: 'Midjourney Proxy channel test is not supported',
  });
});

test('the result has the upstream’s message, without its key', async () => {
  const id = await gateway.channel(practice.url, { type: 199, models: 'practice-small@error-rate=1,error-status=401' });
  const order = { channelId: id, model: 'practice-small@error-rate=1,error-status=401', stream: true };
  const result = await runChannelTest(gateway.relay, gateway.state, order, Date.now);
  expect(result.ok).toBe(false);
  expect(result.message).not.toContain('sk-upstream');
});

test('without a name the cheapest suitable model is asked, and a picture is never bought', async () => {
  const both = await gateway.channel(practice.url, { type: 199, models: 'dall-e-3,o3-deep-research,gpt-4.1-nano' });
  expect(await gateway.services.channels.test(both, '', false)).toMatchObject({ ok: true });
  const images = await gateway.channel(practice.url, { type: 199, models: 'dall-e-3' });
  expect(await gateway.services.channels.test(images, '', false)).toMatchObject({
    ok: false,
    message: '没有能低成本测试的模型，请指定一个',
  });
});

test('the administrator reads the upstream’s own status and words, its callers nothing of its account', async () => {
  const message = 'Incorrect API key of org-AbCdEf123456';
  const upstream = await startUpstream((response) =>
    sendJson(response, { error: { message, type: 'x', code: 'invalid_api_key' } }, 401),
  );
  const id = await gateway.channel(upstream.url, { type: 1, models: 'm' });
  const order = { channelId: id, model: 'm', stream: false };
  const result = await runChannelTest(gateway.relay, gateway.state, order, Date.now);
  expect(result.message).toBe(`HTTP 401: ${message}`);
  await gateway.option('SelfUseModeEnabled', 'true');
  const { key } = await gateway.token();
  const requested = await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  const text = await requested.text();
  expect(text).toContain('Incorrect API key of ***');
  expect(text).not.toContain('org-AbC');
  await upstream.stop();
});

test('a channel that is off can be tested, and is pinned by nothing else', async () => {
  const id = await gateway.channel(practice.url, { type: 199, models: 'practice-small', status: 2 });
  const order = { channelId: id, model: 'practice-small', stream: false };
  expect(await runChannelTest(gateway.relay, gateway.state, order, Date.now)).toMatchObject({ ok: true });
});
