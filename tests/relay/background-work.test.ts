/** No work starts after its client has left. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(1, 1)));
  await gateway.option('SelfUseModeEnabled', 'true');
  await gateway.option('RetryTimes', '3');
  for (const name of ['one', 'two', 'three']) await gateway.channel(upstream.url, { name, models: 'gpt-4o-mini' });
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const post = (path: string, body: unknown, authorization: string | null = `Bearer sk-${key}`) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: authorization === null ? {} : { authorization },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );

const messages = [{ role: 'user', content: 'hi' }];
const model = 'gpt-4o-mini';
const requests: Readonly<Record<string, Record<string, unknown>>> = {
  '/v1/responses': { model, input: 'hi' },
  '/v1/chat/completions': { model, messages },
  '/v1/messages': { model, max_tokens: 9, messages },
  '/v1beta/models/gpt-4o-mini:generateContent': { contents: [{ parts: [{ text: 'hi' }] }] },
  '/v1beta/models/gpt-4o-mini:streamGenerateContent': { contents: [{ parts: [{ text: 'hi' }] }] },
  '/v1/completions': { model, prompt: 'hi' },
};

describe('work in the background', () => {
  for (const [path, body] of Object.entries(requests)) {
    for (const [member, value] of [
      ['background', true],
      ['background', 'true'],
      ['background', 1],
      ['deferred', true],
    ] as const) {
      test(`${path} with ${member} ${JSON.stringify(value)} is refused before anything is started`, async () => {
        const before = await gateway.balance();
        const response = await post(path, { ...body, [member]: value });
        expect(response.status).toBe(400);
        expect(await response.text()).toContain(`${member} is not supported`);
        expect(upstream.requests).toHaveLength(0);
        expect(await gateway.balance()).toBe(before);
      });
    }
  }

  test('the playground refuses it too', async () => {
    const response = await post('/pg/chat/completions', { model, messages, background: true }, null);
    expect(response.status).toBe(400);
    expect(upstream.requests).toHaveLength(0);
  });

  test.each([false, null])('background %s is what everybody means', async (background) => {
    const response = await post('/v1/chat/completions', { model, messages, background });
    expect(response.status).toBe(200);
  });

  test('an answer that is only queued is ordered once, not once a channel', async () => {
    upstream.script((response) =>
      sendJson(response, { id: 'resp_1', object: 'response', status: 'queued', output: [] }),
    );
    const response = await post('/v1/responses', { model, input: 'hi' });
    expect(response.status).toBe(502);
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([
    '/v1/batches',
    '/v1/messages/batches',
    '/v1beta/models/gpt-4o-mini:batchGenerateContent',
    '/v1beta/models/gpt-4o-mini:asyncBatchEmbedContent',
    '/v1beta/models/gpt-4o-mini:predictLongRunning',
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/cancel',
    '/v1/conversations',
    '/v1/containers',
    '/v1/files',
  ])('%s reaches no upstream', async (path) => {
    const response = await post(path, { model, input: 'hi' });
    expect([404, 501]).toContain(response.status);
    expect(upstream.requests).toHaveLength(0);
  });
});
