/** Errors that a retry cannot fix say so, so that agents give up at once instead of after minutes. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { refusalOf } from '../../server/relay/delivery/settle.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  gateway = await createTestGateway();
  await gateway.channel(upstream.url, { type: 199, models: 'gpt-4o-mini' });
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const hello = [{ role: 'user', content: 'hi' }];
const requests = {
  'openai-chat': (model: string) => ['/v1/chat/completions', { model, messages: hello }],
  'openai-responses': (model: string) => ['/v1/responses', { model, input: 'hi' }],
  'anthropic-messages': (model: string) => ['/v1/messages', { model, max_tokens: 9, messages: hello }],
  'gemini-generate': (model: string) => [
    `/v1beta/models/${model}:generateContent`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'ollama-chat': (model: string) => ['/api/chat', { model, messages: hello }],
  'cohere-chat': (model: string) => ['/v2/chat', { model, messages: hello }],
} as const satisfies Record<string, (model: string) => readonly [string, unknown]>;

async function ask(path: string, body: unknown, key: string) {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, retry: response.headers.get('x-should-retry'), text: await response.text() };
}

const shapes: Readonly<Record<keyof typeof requests, unknown>> = {
  'openai-chat': { error: { type: 'invalid_request_error', code: 'model_not_found' } },
  'openai-responses': { error: { type: 'invalid_request_error', code: 'model_not_found' } },
  'anthropic-messages': { type: 'error', error: { type: 'not_found_error' } },
  'gemini-generate': { error: { code: 404, status: 'NOT_FOUND' } },
  'ollama-chat': { error: expect.stringContaining('does not exist') },
  'cohere-chat': { message: expect.stringContaining('does not exist') },
};

test.each(Object.keys(requests) as (keyof typeof requests)[])(
  '%s: a model that is configured nowhere is not found',
  async (dialect) => {
    const { key } = await gateway.token();
    const [path, body] = requests[dialect]('nobody-has-it');
    const answer = await ask(path, body, key);
    expect(answer).toMatchObject({ status: 404, retry: 'false' });
    expect(JSON.parse(answer.text)).toMatchObject(shapes[dialect] as object);
  },
);

test('a model whose channels are switched off for now may be asked for again', async () => {
  const { key } = await gateway.token();
  await gateway.channel(upstream.url, { models: 'resting', status: 2 });
  const [path, body] = requests['openai-chat']('resting');
  expect(await ask(path, body, key)).toMatchObject({ status: 503, retry: null });
  // In another group it does not exist.
  await gateway.channel(upstream.url, { models: 'elsewhere', group: 'vip' });
  expect(await ask(path, { ...body, model: 'elsewhere' }, key)).toMatchObject({ status: 404, retry: 'false' });
});

test('a wrong key, no quota, a forbidden model and a bad request are final', async () => {
  const good = await gateway.token();
  const [path, body] = requests['openai-chat']('gpt-4o-mini');
  expect(await ask(path, body, 'no-such-key')).toMatchObject({ status: 401, retry: 'false' });
  const poor = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  expect(await ask(path, body, poor.key)).toMatchObject({ status: 403, retry: 'false' });
  const narrow = await gateway.token({ model_limits_enabled: true, model_limits: 'other' });
  expect(await ask(path, body, narrow.key)).toMatchObject({ status: 403, retry: 'false' });
  expect(await ask(path, '{"model":', good.key)).toMatchObject({ status: 400, retry: 'false' });
  const daily = await gateway.token({ day_budget: 1 });
  expect(await ask(path, body, daily.key)).toMatchObject({ status: 429, retry: 'false' });
});

test('a failure that the upstream may not repeat is left to the client', async () => {
  const { key } = await gateway.token();
  const [path, body] = requests['openai-chat']('gpt-4o-mini');
  for (const [status, retry] of [
    [500, null],
    [429, null],
    [400, 'false'],
    [422, 'false'],
  ] as const) {
    upstream.script((response) => sendJson(response, { error: { message: 'no', type: 'x' } }, status));
    expect(await ask(path, body, key), String(status)).toMatchObject({ retry });
  }
});

test('a window that reopens may be waited for', async () => {
  const { key } = await gateway.token({ rpm_limit: 1 });
  const [path, body] = requests['openai-chat']('gpt-4o-mini');
  expect((await ask(path, body, key)).status).toBe(200);
  expect(await ask(path, body, key)).toMatchObject({ status: 429, retry: null });
});

test('the official SDKs ask once', async () => {
  const { key } = await gateway.token();
  let requested = 0;
  const counted = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    requested++;
    const request = new Request(String(url), init);
    return gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  };
  const openai = new OpenAI({ apiKey: `sk-${key}`, baseURL: 'http://gateway/v1', fetch: counted });
  await expect(openai.responses.create({ model: 'nobody-has-it', input: 'hi' })).rejects.toThrow('does not exist');
  const anthropic = new Anthropic({ apiKey: `sk-${key}`, baseURL: 'http://gateway', fetch: counted });
  const message = { model: 'nobody-has-it', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] };
  await expect(anthropic.messages.create(message)).rejects.toThrow('does not exist');
  expect(requested).toBe(2);
});

test('an operation is unsupported where no channel was tried and the client waits, else no upstream was reached', () => {
  const reservation = { parsed: { operation: 'chat', requestId: 'r', protocol: 'openai-chat' }, free: false } as never;
  const codeOf = (attempts: readonly object[], clientGone: boolean) => {
    const failed = {
      kind: 'failed',
      error: null,
      failure: null,
      last: null,
      attempts,
      left: null,
      final: false,
    } as never;
    return refusalOf(reservation, failed, { clientGone, stopped: null }).error.code;
  };
  expect([codeOf([], false), codeOf([], true)]).toEqual(['operation_unsupported', 'upstream_unreachable']);
  expect(codeOf([{}], false)).toBe('upstream_unreachable');
});
