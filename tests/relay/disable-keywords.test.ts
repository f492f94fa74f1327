/** Words that say that a key must not be used again count with any status. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBulkTests } from '../../server/domain/channels/bulk-tests.ts';
import { classify, redact, statusFailure, withKeywords } from '../../server/relay/shared/failure.ts';
import { inBodyFailure } from '../../server/relay/upstream/attempt.ts';
import type { Prepared } from '../../server/relay/upstream/prepare.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let poor: Upstream;
let rich: Upstream;
let key: string;
let answer: { readonly status: number; readonly body: unknown };

beforeAll(async () => {
  gateway = await createTestGateway();
  poor = await startUpstream((response) => sendJson(response, answer.body, answer.status));
  rich = await startUpstream((response) => sendJson(response, completion(3, 2)));
  await gateway.option('ModelRatio', JSON.stringify({ m: 1 }));
  await gateway.option('RetryTimes', '2');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await poor.stop();
  await rich.stop();
});

const lowCredit = {
  status: 400,
  body: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
    },
  },
};
const overQuota = {
  status: 429,
  body: {
    error: {
      message: 'You exceeded your current quota, please check your plan and billing details.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  },
};

test.each([
  ['a 400', lowCredit],
  ['a 429', overQuota],
])('%s with a keyword is trouble of the key, and another channel is tried', async (_name, keywordFailure) => {
  answer = keywordFailure;
  const id = await gateway.channel(poor.url, { models: 'm', priority: 5 });
  const other = await gateway.channel(rich.url, { models: 'm' });
  gateway.troubles.length = 0;
  const response = await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  expect(response.status).toBe(200);
  expect(gateway.troubles).toMatchObject([{ channelId: id, kind: 'key', status: keywordFailure.status }]);
  const [failure] = gateway.troubles;
  if (failure === undefined) throw new Error('no trouble');
  await gateway.option('AutomaticDisableChannelEnabled', 'true');
  expect(await gateway.services.channels.troubled(failure)).toContain(`HTTP ${keywordFailure.status}`);
  await gateway.services.channels.remove(id);
  await gateway.services.channels.remove(other);
  await gateway.sync();
});

test('a caller cannot disable a channel with words that the upstream repeats', async () => {
  answer = lowCredit;
  const id = await gateway.channel(poor.url, { models: 'm' });
  gateway.troubles.length = 0;
  const content = 'Say: YOUR CREDIT BALANCE IS TOO LOW';
  const response = await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content }] });
  expect(response.status).toBe(400);
  expect(gateway.troubles).toEqual([]);
  await gateway.services.channels.remove(id);
  await gateway.sync();
});

/** The ways in which a caller may write words that an upstream reads differently from the bytes that came. */
const written: readonly (readonly [string, string, string, Record<string, string>])[] = [
  ['as escapes', '/v1/chat/completions', '"role": "\\u0059our credit\\nbalance is too low"', {}],
  ['in a header', '/v1/chat/completions', '"role": "user"', { 'openai-beta': 'your credit balance is too low' }],
  ['in the query', '/v1/chat/completions?beta=your%20credit+balance%20is%20too%20low', '"role": "user"', {}],
];

test.each(written)(
  'disable keywords that a caller wrote %s, and the upstream repeats, disable nothing',
  async (_name, path, role, headers) => {
    answer = {
      status: 400,
      body: { error: { message: "Invalid value: 'Your credit balance is too low'.", type: 'invalid_request_error' } },
    };
    const id = await gateway.channel(poor.url, { models: 'm' });
    gateway.troubles.length = 0;
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
      body: `{"model": "m", "messages": [{${role}, "content": "hi"}]}`,
    });
    const response = await gateway.relay.handle(request, '/v1/chat/completions', { ip: () => '127.0.0.1' });
    expect(response.status).toBe(400);
    expect(gateway.troubles).toEqual([]);
    await gateway.services.channels.remove(id);
    await gateway.sync();
  },
);

test('other words of a client mistake stay a client mistake', () => {
  const failure = {
    class: 'client',
    status: 400,
    error: { status: 400, type: null, code: null, message: 'max_tokens is too large' },
    retryAfter: null,
    reason: 'status',
  } as const;
  expect(withKeywords(failure, ['credit balance is too low'], () => '')).toBe(failure);
});

test.each([
  [0, []],
  [1, [1]],
])('a channel with auto_ban %s that is slow is disabled: %j', async (auto_ban, expected) => {
  const disabled: number[] = [];
  const channels = {
    choose: async () => [{ id: 1, name: 'a', status: 1, auto_ban }],
    test: async () => ({ ok: true, ms: 9000, message: '' }),
    disableFor: async (id: number) => {
      disabled.push(id);
      return true;
    },
  } as unknown as Parameters<typeof createBulkTests>[0]['channels'];
  const rounds = createBulkTests({
    channels,
    slowSeconds: () => 5,
    automaticDisable: () => true,
    turns: { take: async (_name, _everyMs, work) => work().then(() => true) },
    now: () => 0,
    report: () => undefined,
  });
  expect(await rounds.test({}, '', false)).toMatchObject([{ id: 1, success: false }]);
  expect(disabled).toEqual(expected);
});

test('a key is taken out of what others read wherever it stands, unless it is so short that words would go with it', () => {
  expect(redact('abcdef is wrong, not ABCDEF: abcdef', ['abcdef'])).toBe('*** is wrong, not ABCDEF: ***');
  expect(redact('the word is wrong', ['word', ''])).toBe('the word is wrong');
});

test.each([
  ['rate_limit_error', 429, 'key'],
  ['overloaded_error', 529, 'host'],
  ['authentication_error', 401, 'key'],
  ['permission_denied', 403, 'key'],
  ['context_length_exceeded', 400, 'client'],
  ['who_knows', 502, 'host'],
])('an error inside of a 200 that calls itself %s counts as %i', (code, status, kind) => {
  const error = { status: null, type: null, code, message: 'no' };
  const prepared = { channel: { keys: ['abcdef'], baseUrl: 'http://up.example' } } as unknown as Prepared;
  expect(inBodyFailure(error, prepared)).toMatchObject({ status, class: kind });
  // A prompt that is too long has the same status everywhere.
  const named = code === 'context_length_exceeded' ? 400 : 418;
  expect(inBodyFailure({ ...error, status: 418 }, prepared).status).toBe(named);
});

test.each([
  [299, 'client'],
  [300, 'host'],
  [399, 'host'],
  [400, 'client'],
  [401, 'key'],
  [404, 'host'],
  [408, 'host'],
  [429, 'key'],
  [499, 'client'],
  [500, 'host'],
])('a status of %i is trouble of the %s', (status, kind) => {
  expect(classify(status, null)).toBe(kind);
});

test.each([
  [503, 'insufficient_user_quota', 'key'],
  [400, 'usage_limit_reached', 'key'],
  [503, 'model_not_found', 'host'],
  [400, 'model_not_found', 'host'],
  [400, 'invalid_value', 'client'],
])('an upstream that refuses with %i and %s fails as a %s', (status, code, kind) => {
  const error = { status, type: null, code, message: 'no' };
  expect(statusFailure(status, error, null).class).toBe(kind);
});
