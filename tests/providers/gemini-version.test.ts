import { expect, test } from 'vitest';
import { createTestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';

const answer = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};
const requested = (model: string) => ({ model, messages: [{ role: 'user', content: 'hi' }] });

test('a new channel calls the version of the API that the option names for the model', async () => {
  const upstream = await startUpstream((response) => sendJson(response, answer));
  const gateway = await createTestGateway();
  await gateway.option('gemini.version_settings', '{"default":"v1alpha","gemini-2.5-flash":"v1"}');
  await gateway.option('SelfUseModeEnabled', 'true');
  const models = ['gemini-2.5-flash', 'gemini-2.5-pro'];
  await gateway.channel(upstream.url, { type: 24, models: models.join(',') });
  const { key } = await gateway.token();
  for (const model of models) await gateway.chat(key, requested(model));
  const own = await gateway.channel(upstream.url, { type: 24, models: 'gemini-own', other: 'v1beta2' });
  expect((await gateway.services.channels.get(own)).other).toBe('v1beta2');
  await gateway.chat(key, requested('gemini-own'));
  expect(upstream.requests.map(({ path }) => path.split('?')[0])).toEqual([
    '/v1/models/gemini-2.5-flash:generateContent',
    '/v1alpha/models/gemini-2.5-pro:generateContent',
    '/v1beta2/models/gemini-own:generateContent',
  ]);
  await gateway.close();
  await upstream.stop();
});
