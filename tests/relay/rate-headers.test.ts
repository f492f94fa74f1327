/** What answers say of limits: how those of the caller stand, in the words of the dialect's maker, and nothing of the upstream's account. */
import { expect, test } from 'vitest';
import type { RateUse } from '../../server/contract/snapshot.ts';
import { tightest } from '../../server/relay/admission/site-rates.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { completion, type Received, sendJson } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const time = new VirtualTime();
const bench = await sharedGateway({ relay: { timers: time } });
const { gateway, upstream, key: free } = bench;
await gateway.option('SelfUseModeEnabled', 'true');

const model = 'gpt-4o-mini';
const messages = [{ role: 'user', content: 'hi' }];
const dialects = [
  ['chat', '/v1/chat/completions', { model, messages, max_tokens: 50 }, { stream: true }],
  ['Responses', '/v1/responses', { model, input: 'hi', max_output_tokens: 50 }, { stream: true }],
  ['Messages', '/v1/messages', { model, messages, max_tokens: 50 }, { stream: true }],
  ['Cohere', '/v2/chat', { model, messages, max_tokens: 50 }, { stream: true }],
  ['Ollama', '/api/chat', { model, messages, stream: false, options: { num_predict: 50 } }, { stream: true }],
  [
    'Gemini',
    `/v1beta/models/${model}:generateContent`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 50 } },
    null,
  ],
] as const;

const quotas: Readonly<Record<string, string>> = {
  'x-ratelimit-limit-requests': '111',
  'x-ratelimit-remaining-tokens': '222',
  'x-ratelimit-reset-tokens': '6ms',
  'anthropic-ratelimit-requests-remaining': '333',
  'anthropic-ratelimit-unified-status': 'allowed_warning',
  'anthropic-organization-id': 'org-of-the-upstream',
  'openai-organization': 'org-of-the-upstream',
  'x-codex-primary-used-percent': '97',
  'x-trial-endpoint-call-remaining': '444',
  'x-endpoint-monthly-call-limit': '555',
  'ratelimit-remaining': '666',
  'ratelimit-policy': '777;w=60',
  'x-rate-limit-remaining': '888',
  'x-quota-remaining': '999',
  'x-request-cost': '1.5',
};
const answer = (received: Received): object => {
  if (received.path.includes('embeddings')) return { object: 'list', data: [{ index: 0, embedding: [1] }] };
  return completion(3, 2);
};
upstream.script(() => undefined);
const scripted = () =>
  upstream.script((response, received) => {
    if (!String(received.body).includes('"stream":true')) return sendJson(response, answer(received), 200, quotas);
    response.writeHead(200, { 'content-type': 'text/event-stream', ...quotas });
    const end = { choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }] };
    response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  });
const open = (fields: object = {}) =>
  gateway.channel(upstream.url, { type: 43, models: `${model},text-embedding-3-small`, ...fields });
const ratesIn = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => /rate-?limit|quota|codex|endpoint-|organi/.test(name)));
async function ask(key: string, path: string, body: object) {
  const response = await gateway.send(key, path, body);
  await response.text();
  return response;
}

test.each(dialects)(
  '%s: limit, rest and reset of a key, of each kind of answer',
  async (name, path, body, streamed) => {
    scripted();
    await open();
    const { key } = await gateway.token({ rpm_limit: 5, tpm_limit: 10_000 });
    const forms = streamed === null ? [body] : [body, { ...body, ...streamed }];
    for (const [at, form] of forms.entries()) {
      const response = await ask(key, path, form);
      expect(response.status).toBe(200);
      const rates = ratesIn(response);
      const left = String(4 - at);
      const value = (kind: string, what: string) =>
        name === 'Messages' ? rates[`anthropic-ratelimit-${kind}-${what}`] : rates[`x-ratelimit-${what}-${kind}`];
      expect(Object.keys(rates)).toHaveLength(6);
      expect([value('requests', 'limit'), value('requests', 'remaining')]).toEqual(['5', left]);
      expect(value('tokens', 'limit')).toBe('10000');
      // What it may use at most is taken until it has ended.
      const taken = 10_000 - Number(value('tokens', 'remaining'));
      expect(taken).toBeGreaterThanOrEqual(50);
      expect(taken).toBeLessThan(150);
      if (name !== 'Messages') expect(value('requests', 'reset')).toMatch(/^1m[0-2]s$/);
      else {
        const resets = String(value('requests', 'reset'));
        expect(resets).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect((Date.parse(resets) - time.now()) / 1000).toBeCloseTo(61, -1);
      }
    }
  },
);

test('a key without limits gets none, whatever the upstream says of its own', async () => {
  scripted();
  await open();
  for (const [, path, body, streamed] of dialects) {
    expect(ratesIn(await ask(free, path, body))).toEqual({});
    if (streamed !== null) expect(ratesIn(await ask(free, path, { ...body, ...streamed }))).toEqual({});
  }
  expect(ratesIn(await ask(free, '/v1/embeddings', { model: 'text-embedding-3-small', input: 'hi' }))).toEqual({});
  const only = await gateway.token({ concurrency_limit: 3 });
  expect(ratesIn(await ask(only.key, '/v1/chat/completions', { model, messages }))).toEqual({});
});

test.each([400, 429, 503])('an upstream that refuses with %d says nothing of its account', async (status) => {
  upstream.script((response) =>
    sendJson(response, { error: { message: 'Limit 10000, Used 9000' } }, status, { ...quotas, 'retry-after': '7' }),
  );
  await open();
  for (const [, path, body] of dialects) expect(ratesIn(await ask(free, path, body))).toEqual({});
});

test('of several limits the one with the least left is shown', async () => {
  scripted();
  await open();
  const { key } = await gateway.token({ rpm_limit: 50, tpm_limit: 1000 });
  const shown = async () => {
    const { 'x-ratelimit-limit-requests': requests, 'x-ratelimit-limit-tokens': tokens } = ratesIn(
      await ask(key, '/v1/chat/completions', { model, messages, max_tokens: 5 }),
    );
    return [requests, tokens];
  };
  expect(await shown()).toEqual(['50', '1000']);
  await gateway.option('GroupLimits', JSON.stringify({ default: { rpm: 20, tpm: 5000 } }));
  expect(await shown()).toEqual(['20', '1000']);
  await gateway.option('ModelRequestRateLimitEnabled', 'true');
  await gateway.option('ModelRequestRateLimitDurationMinutes', '5');
  await gateway.option('ModelRequestRateLimitCount', '30');
  await gateway.option('ModelRequestRateLimitSuccessCount', '9');
  const response = await ask(key, '/v1/chat/completions', { model, messages, max_tokens: 5 });
  expect(ratesIn(response)).toMatchObject({
    'x-ratelimit-limit-requests': '9',
    'x-ratelimit-remaining-requests': '8',
    'x-ratelimit-reset-requests': expect.stringMatching(/^5m\d+s$/),
  });
  for (const name of ['ModelRequestRateLimitEnabled', 'GroupLimits'])
    await gateway.option(name, name === 'GroupLimits' ? '{}' : 'false');
});

test('a request refused for a limit reads which one, and when it is over', async () => {
  scripted();
  await open();
  const { key } = await gateway.token({ rpm_limit: 1 });
  const body = { model, messages, max_tokens: 5 };
  expect((await ask(key, '/v1/chat/completions', body)).status).toBe(200);
  const refused = await ask(key, '/v1/chat/completions', body);
  expect([refused.status, ratesIn(refused)]).toEqual([
    429,
    {
      'x-ratelimit-limit-requests': '1',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': expect.stringMatching(/^(?:1m[0-2]|59|60)s$/),
    },
  ]);
  const claude = await ask(key, '/v1/messages', body);
  expect([claude.status, ratesIn(claude)]).toEqual([
    429,
    { 'anthropic-ratelimit-requests-limit': '1', 'anthropic-ratelimit-requests-remaining': '0' },
  ]);
  const few = await gateway.token({ tpm_limit: 200 });
  await ask(few.key, '/v1/chat/completions', { ...body, max_tokens: 100 });
  const large = await ask(few.key, '/v1/chat/completions', {
    ...body,
    messages: [{ role: 'user', content: 'a '.repeat(500) }],
  });
  expect(large.status).toBe(429);
  expect(ratesIn(large)).toMatchObject({ 'x-ratelimit-limit-tokens': '200' });
  expect(Number(ratesIn(large)['x-ratelimit-remaining-tokens'])).toBeGreaterThan(100);
});

test('of two limits of a kind that have as much left, the first one is shown', () => {
  const use = (limit: number, remaining: number): RateUse => ({ kind: 'requests', limit, remaining, resetMs: 1000 });
  expect(tightest([use(5, 3), use(9, 3)])).toEqual([use(5, 3)]);
  expect(tightest([use(5, 3), use(9, 2)])).toEqual([use(9, 2)]);
  expect(tightest([use(9, 4), use(5, 3), use(7, 3)])).toEqual([use(5, 3)]);
  const tokens: RateUse = { ...use(9, 1), kind: 'tokens' };
  expect(tightest([tokens, use(5, 3), { ...tokens, limit: 8 }])).toEqual([use(5, 3), tokens]);
});
