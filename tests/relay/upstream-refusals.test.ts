/** Refusals of upstreams that a retry cannot help: the client stops at once and reads why, without the upstream's secrets. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { statusFailure, withoutAccount } from '../../server/relay/shared/failure.ts';
import { clientError, errorResponse, localizedError } from '../../server/relay/shared/render-error.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  gateway = await createTestGateway();
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const hello = [{ role: 'user', content: 'hi' }];
const requests = {
  'openai-chat': ['/v1/chat/completions', { model: 'gpt-4o-mini', messages: hello }],
  'openai-responses': ['/v1/responses', { model: 'gpt-4o-mini', input: 'hi' }],
  'anthropic-messages': ['/v1/messages', { model: 'gpt-4o-mini', max_tokens: 9, messages: hello }],
  'gemini-generate': [
    '/v1beta/models/gpt-4o-mini:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'ollama-chat': ['/api/chat', { model: 'gpt-4o-mini', messages: hello }],
  'cohere-chat': ['/v2/chat', { model: 'gpt-4o-mini', messages: hello }],
} as const satisfies Record<string, readonly [string, unknown]>;

async function send([path, body]: readonly [string, unknown] = requests['openai-chat']) {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', 'accept-language': 'en' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return {
    status: response.status,
    retry: response.headers.get('x-should-retry'),
    after: response.headers.get('retry-after'),
    headers: response.headers,
    text: await response.text(),
  };
}

const refusing = (status: number, error: object, headers: Record<string, string> = {}) =>
  upstream.script((response) => sendJson(response, { error }, status, headers));

const secretWords =
  'No access for bob@example.com of org-AbCdEf123456 at api.upstream.example.com, balance $12.34, key sk-upstream-secret-key';

test.each([401, 403, 404])(
  'an upstream’s %i ends with a status that no client retries, and its reason',
  async (status) => {
    await gateway.channel(upstream.url);
    refusing(status, { message: secretWords, type: 'x' });
    const answer = await send();
    expect(answer).toMatchObject({ status: 400, retry: 'false' });
    expect(answer.text).toContain('No access for');
    for (const hidden of ['bob@', 'org-AbC', 'example.com', '12.34', 'sk-upstream'])
      expect(answer.text).not.toContain(hidden);
    const row = (await gateway.logs())[0];
    const { admin_info } = JSON.parse(String(row?.other)) as { admin_info: { attempts: { message: string }[] } };
    expect(admin_info.attempts[0]?.message).toContain('bob@example.com of org-AbCdEf123456');
    expect(row?.content).not.toContain('bob@');
  },
);

test.each(Object.keys(requests) as (keyof typeof requests)[])(
  'a refused upstream key is no failed login in %s',
  async (dialect) => {
    await gateway.channel(upstream.url, { type: 199 });
    upstream.script((response) =>
      sendJson(response, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }, 401),
    );
    const answer = await send(requests[dialect]);
    expect(answer).toMatchObject({ status: 400, retry: 'false' });
    expect(answer.text).not.toMatch(/authentication_error|UNAUTHENTICATED|PERMISSION_DENIED/);
  },
);

test('a refusal is final only when no other channel could serve the next request', async () => {
  await gateway.channel(upstream.url, { priority: 9 });
  await gateway.channel(`${upstream.url}/second`, { priority: 8 });
  upstream.script((response, { path }) =>
    path.startsWith('/second')
      ? sendJson(response, { error: { message: 'wrong key' } }, 401)
      : sendJson(response, { error: { message: 'down for a moment' } }, 500),
  );
  expect(await send()).toMatchObject({ status: 502, retry: null });
});

test('channels that no attempt was left for may serve the next request', async () => {
  for (const [at, place] of ['/a', '/b', '/c', '/d'].entries())
    await gateway.channel(upstream.url + place, { priority: 9 - at });
  refusing(401, { message: 'wrong key' });
  expect(await send()).toMatchObject({ status: 502, retry: null });
  expect(upstream.requests.length).toBeLessThan(4);
});

test('a channel with another key may serve the next request', async () => {
  await gateway.channel(upstream.url, { key: 'sk-one\nsk-two\nsk-three\nsk-four' });
  refusing(401, { message: 'wrong key' });
  expect(await send()).toMatchObject({ status: 502, retry: null });
});

test('an upstream whose quota comes back in hours is not waited for', async () => {
  await gateway.channel(upstream.url);
  refusing(429, { message: 'Weekly limit reached' }, { 'retry-after': '7200' });
  const answer = await send();
  expect(answer).toMatchObject({ status: 400, retry: 'false', after: null });
  expect(answer.text).not.toContain('Weekly limit reached');
});

const ofItsQuota = [
  [402, { message: 'You have 3 requests left', type: 'x' }],
  [429, { message: 'You exceeded your current quota, please check your plan', type: 'insufficient_quota' }],
  [429, { message: 'Your account balance is insufficient', type: 'billing_error' }],
  [429, { message: 'The usage limit has been reached', type: 'usage_limit_reached', resets_at: 1_800_000_000 }],
  [400, { message: 'Your credit balance is too low to access the API.', type: 'invalid_request_error' }],
] as const;
const ofItsQuotaInEach = ofItsQuota.flatMap(([status, error]) =>
  Object.values(requests).map((request) => [request[0], status, error.message, error, request] as const),
);

test.each(ofItsQuotaInEach)(
  'an upstream’s words about its own quota are kept from the caller of %s, and logged for the operator: %i %s',
  async (_path, status, _message, error, request) => {
    // Types are read in the dialects that have them; Google's and Ollama's clients are translated for.
    await gateway.channel(upstream.url, /^\/(?:v1beta|api)\//.test(request[0]) ? {} : { type: 199 });
    const headers = {
      'retry-after': '20',
      'anthropic-ratelimit-unified-reset': '1800000000',
      'x-ratelimit-remaining-requests': '3',
      'x-codex-primary-used-percent': '99',
      'x-codex-promo-message': 'buy more',
    };
    refusing(status, error, headers);
    const answer = await send(request);
    expect(answer).toMatchObject({ status: 400, retry: 'false', after: null });
    expect(answer.text).not.toContain(error.message);
    expect(answer.text).not.toContain('1800000000');
    for (const name of Object.keys(headers)) expect(answer.headers.get(name)).toBeNull();
    const row = (await gateway.logs())[0];
    expect(row?.content).not.toContain(error.message);
    expect(String(row?.other)).toContain(error.message);
  },
);

test.each(Object.keys(requests) as (keyof typeof requests)[])(
  'a gateway of ours whose operator has used up its money is spent, whatever language it says so in: %s',
  async (dialect) => {
    for (const language of ['en', 'zh'] as const)
      for (const code of ['user_exhausted', 'token_exhausted', 'token_budget_day', 'token_budget_month'] as const) {
        const inner = clientError(new AppError(code, { remain: '$0', need: '$1', seconds: 9, resets: 9 }), 'x');
        const answer = errorResponse(dialect, localizedError(inner, language), 9, true);
        const failure = statusFailure(
          answer.status,
          codecs[dialect].upstream.decodeError(answer.status, await answer.text()),
          9,
        );
        expect([code, failure.class, failure.refusal?.reason]).toEqual([code, 'key', 'spent']);
      }
  },
);

test('a date says how long a quota is gone as well as seconds do', async () => {
  await gateway.channel(upstream.url);
  const date = 'Mon, 23 Nov 2026 10:00:00 GMT';
  refusing(429, { message: 'limit' }, { date, 'retry-after': 'Mon, 23 Nov 2026 12:00:00 GMT' });
  expect(await send()).toMatchObject({ status: 400, retry: 'false', after: null });
});

test('a rate limit that is over soon is waited for', async () => {
  await gateway.channel(upstream.url);
  refusing(429, { message: 'slow down' }, { 'retry-after': '20' });
  expect(await send()).toMatchObject({ status: 429, retry: null, after: '20' });
});

test.each([
  [500, { message: 'Incorrect API key', type: 'authentication_error' }],
  [503, { message: 'no channel for this model', code: 'model_not_found' }],
  [501, { message: 'not implemented' }],
])('a %i whose words say that it stays so is final: %j', async (status, error) => {
  await gateway.channel(upstream.url);
  refusing(status, error);
  const answer = await send();
  expect(answer).toMatchObject({ status: 400, retry: 'false' });
  expect(answer.text).toContain(error.message);
  expect(answer.text).toContain('upstream_');
});

test('the official SDKs send a refused request once', async () => {
  await gateway.channel(upstream.url);
  refusing(401, { message: 'Incorrect API key provided' });
  let sent = 0;
  const counted = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    sent++;
    const request = new Request(String(url), init);
    return gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  };
  const openai = new OpenAI({ apiKey: `sk-${key}`, baseURL: 'http://gateway/v1', fetch: counted });
  await expect(openai.responses.create({ model: 'gpt-4o-mini', input: 'hi' })).rejects.toThrow('Incorrect API key');
  const anthropic = new Anthropic({ apiKey: `sk-${key}`, baseURL: 'http://gateway', fetch: counted });
  const message = { model: 'gpt-4o-mini', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] };
  await expect(anthropic.messages.create(message)).rejects.toThrow('Incorrect API key');
  expect(sent).toBe(2);
});

test('a gateway behind a gateway is no mistake of the caller: another channel is asked', async () => {
  await gateway.channel(`${upstream.url}/inner`, { priority: 9 });
  await gateway.channel(upstream.url);
  upstream.script((response, { path }) =>
    path.startsWith('/inner')
      ? sendJson(response, { error: { message: 'refused', type: 'api_error', code: 'upstream_key' } }, 400)
      : sendJson(response, completion(10, 5)),
  );
  expect(await send()).toMatchObject({ status: 200 });
});

test.each([
  ['organization org-AbCdEf123456 must be verified', 'organization *** must be verified'],
  ['Your account org-0f1e2d3c4b5a<ak-f0e1d2c3b4a5> is suspended', 'Your account ***<***> is suspended'],
  ['Limit in organization `org_01hxyzabcdefgh` reached', 'Limit in organization *** reached'],
  ['Organization "Acme Corp" has no access', 'Organization *** has no access'],
  ['the organization Acme Corp has no access', 'the organization *** has no access'],
  ['Account: Acme-Sales, no access', 'Account: ***, no access'],
  ['ask admin@acme.example for access', 'ask *** for access'],
  ['User: arn:aws:iam::123456789012:user/bob is not authorized', 'User: *** is not authorized'],
  ['projects/my-project-1/locations/eu is denied', 'projects/***/locations/eu is denied'],
  ['balance: $-0.02, needed 1.50 USD', 'balance: ***, needed ***'],
  ['用户剩余额度: ＄0.002000', '用户剩余额度: ***'],
  ['余额不足，当前余额 12.5 元', '余额不足，当前余额 ***'],
  ['see platform.acme.ai/billing for more', 'see *** for more'],
  [
    'model gpt-4.1-mini takes at most 128000 tokens in /v1/messages',
    'model gpt-4.1-mini takes at most 128000 tokens in /v1/messages',
  ],
  ['messages.0.content: user_location is not allowed', 'messages.0.content: user_location is not allowed'],
])('what a client reads names no account: %s', (original, answer) => {
  expect(withoutAccount(original)).toBe(answer);
});

test('a caller’s text that an upstream repeats neither cools a key nor ends as a refusal of the account', async () => {
  await gateway.channel(upstream.url);
  gateway.troubles.length = 0;
  refusing(400, { message: 'Bad text: insufficient_quota model_not_found upstream_key' });
  const answer = await send();
  expect(answer).toMatchObject({ status: 400, retry: 'false' });
  expect(answer.text).toContain('Bad text');
  expect(answer.text).not.toContain('administrator');
  expect(gateway.troubles).toEqual([]);
});

test('a caller who writes the words of a quota reads no more of the upstream’s own than others do', async () => {
  await gateway.channel(upstream.url);
  refusing(400, { message: 'Your credit balance is too low to access the API.', type: 'invalid_request_error' });
  gateway.troubles.length = 0;
  const messages = [{ role: 'user', content: 'your credit balance is too low' }];
  const answer = await send(['/v1/chat/completions', { model: 'gpt-4o-mini', messages }]);
  expect(answer).toMatchObject({ status: 400, retry: 'false' });
  expect(answer.text).toContain('upstream_spent');
  expect(answer.text).not.toContain('access the API');
  expect(gateway.troubles).toEqual([]);
});

test.each([
  ['openai-chat', 'openai/gpt-4o-mini requires moderation on OpenRouter. Your input was flagged for "violence".'],
  ['openai-chat', 'Your chosen model requires moderation and your input was flagged'],
  ['anthropic-messages', 'Content violates usage guidelines. Team: 1b2c, Failed check: SAFETY_CHECK_TYPE_BIO'],
] as const)(
  'what a caller wrote and an upstream refuses with 403 for its content harms no channel: %s, %s',
  async (dialect, message) => {
    await gateway.channel(upstream.url);
    await gateway.channel(`${upstream.url}/second`, { priority: -1 });
    gateway.troubles.length = 0;
    refusing(403, { message, type: 'x', code: 'The caller does not have permission' });
    const answer = await send(requests[dialect]);
    expect(answer).toMatchObject({ status: 400, retry: 'false' });
    expect(answer.text).toContain(message.slice(0, 30));
    expect(gateway.troubles).toEqual([]);
    expect(upstream.requests).toHaveLength(1);
    upstream.script((response) => sendJson(response, completion(1, 1)));
    expect((await send()).status).toBe(200);
    expect(upstream.requests.map(({ path }) => path.startsWith('/second'))).toEqual([false, false]);
  },
);

test('a stream that has begun, and breaks off with words of the upstream’s quota, ends without them', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hello' } }] })}\n\n`);
    const error = { message: 'You exceeded your current quota, see billing', code: 'insufficient_quota' };
    response.end(`data: ${JSON.stringify({ error })}\n\n`);
  });
  const { text } = await send(['/v1/chat/completions', { ...requests['openai-chat'][1], stream: true }]);
  expect(text).toContain('Hello');
  expect(text).toContain('upstream_spent');
  expect(text).not.toContain('see billing');
});

test('throttling that mentions the length of prompts is waited for all the same', async () => {
  await gateway.channel(upstream.url);
  refusing(429, { message: 'Too many tokens: prompt is too long for the next minute' });
  expect(await send()).toMatchObject({ status: 429, retry: null });
});
