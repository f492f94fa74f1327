/** Failures that an upstream tells by a finish reason, a code inside of a 200, or with a wait in a form of its own. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { secondsIn, waitHint } from '../../server/protocols/shared/wait-hint.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { statusFailure } from '../../server/relay/shared/failure.ts';
import { retryAfterIn } from '../../server/relay/upstream/http.ts';
import { sendEvents } from '../providers/bench.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

const bench = await sharedGateway();
await bench.gateway.option('ModelRatio', '{"m":1}');

const open = (slug: string, more: Record<string, unknown> = {}) =>
  bench.gateway.channel(bench.upstream.url, { type: providerBySlug(slug)?.type, models: 'm', ...more });
const hello = [{ role: 'user', content: 'hi' }];
const requests = {
  chat: ['/v1/chat/completions', { model: 'm', messages: hello }],
  messages: ['/v1/messages', { model: 'm', max_tokens: 9, messages: hello }],
  responses: ['/v1/responses', { model: 'm', input: 'hi' }],
} as const;
type Client = keyof typeof requests;
const clients = Object.keys(requests) as Client[];

async function ask(client: Client, stream: boolean) {
  const [path, body] = requests[client];
  const response = await bench.gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${bench.key}`, 'accept-language': 'en' },
      body: JSON.stringify({ ...body, stream }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  const text = await response.text();
  return { status: response.status, wait: response.headers.get('retry-after'), text, row: await bench.row() };
}

const usage = { prompt_tokens: 8, completion_tokens: 0, total_tokens: 8 };
const choice = (content: string, more: object, member: 'delta' | 'message') => ({
  id: 'c-1',
  object: member === 'delta' ? 'chat.completion.chunk' : 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, [member]: { role: 'assistant', content }, ...more }],
  usage,
});
const failures: readonly (readonly [string, object])[] = [
  ['error', { finish_reason: 'error' }],
  ['network_error', { finish_reason: 'network_error' }],
  ['a benign one over network_error', { finish_reason: 'stop', native_finish_reason: 'network_error' }],
];
const answers = clients.flatMap((client) =>
  [true, false].flatMap((stream) => failures.map(([name, more]) => [name, client, stream, more] as const)),
);

const shared = new Map<string, Awaited<ReturnType<typeof startUpstream>>>();
afterEach(async () => {
  for (const upstream of shared.values()) await upstream.stop();
  shared.clear();
});

test.each(answers)(
  'the finish reason %s is a failure for a %s client (stream: %s): free, and the next channel answers',
  async (_name, client, stream, more) => {
    bench.upstream.script((response) =>
      stream
        ? sendEvents(response, [choice('', more, 'delta'), '[DONE]'])
        : sendJson(response, choice('', more, 'message')),
    );
    await open('openrouter', { priority: 9, setting: '{"dialect":"openai-chat"}' });
    const alone = await ask(client, stream);
    expect(alone.status).toBe(502);
    expect(alone.row).toMatchObject({ quota: 0 });
    const second = await startUpstream((response) =>
      stream
        ? sendEvents(response, [choice('yes', { finish_reason: 'stop' }, 'delta'), '[DONE]'])
        : sendJson(response, completion(8, 1)),
    );
    shared.set('second', second);
    await bench.gateway.channel(second.url, {
      type: providerBySlug('groq')?.type,
      models: 'm',
      setting: '{"dialect":"openai-chat"}',
    });
    const answered = await ask(client, stream);
    expect(answered.status).toBe(200);
    expect(second.requests).toHaveLength(1);
  },
);

test('an answer that fails behind its first words ends as broken for a client of the same dialect', async () => {
  await open('openrouter');
  bench.upstream.script((response) =>
    sendEvents(response, [choice('yes', {}, 'delta'), choice('', { finish_reason: 'error' }, 'delta'), '[DONE]']),
  );
  const { status, text } = await ask('chat', true);
  expect(status).toBe(200);
  expect(text).toContain('"error":{');
});

const invalid = 'invalid params, system must be first';
const tellings: readonly (readonly [slug: string, what: string, body: object, status: number, words: string | null])[] =
  [
    [
      'minimax',
      'base_resp 2013',
      { choices: null, base_resp: { status_code: 2013, status_msg: invalid } },
      400,
      invalid,
    ],
    ['custom', 'base_resp 2013', { base_resp: { status_code: 2013, status_msg: invalid } }, 400, invalid],
    ['minimax', 'base_resp 1002', { base_resp: { status_code: 1002, status_msg: 'rate limit' } }, 429, null],
    ['zhipu-v4', 'success false', { code: 1214, msg: 'messages is wrong', success: false }, 400, 'messages is wrong'],
    ['zhipu-v4', 'an error 1302', { error: { code: '1302', message: 'too many' } }, 429, null],
    ['ali', 'Throttling', { code: 'Throttling.RateQuota', message: 'slow down', request_id: 'r' }, 429, null],
    ['ali', 'InvalidParameter', { code: 'InvalidParameter', message: 'top_p is wrong' }, 400, 'top_p is wrong'],
    ['openrouter', 'a status as code', { error: { code: 429, message: 'busy' } }, 429, null],
  ];

test.each(tellings.flatMap((row) => [true, false].map((stream) => [...row, stream] as const)))(
  '%s’s %s inside of a 200 is %s, with its words (%s %s, stream: %s)',
  async (slug, _what, body, status, words, stream) => {
    await open(slug);
    bench.upstream.script((response) => (stream ? sendEvents(response, [body]) : sendJson(response, body)));
    for (const client of ['chat', 'messages'] as const) {
      const { status: got, text, row } = await ask(client, stream);
      expect(got).toBe(status);
      if (words !== null) expect(text).toContain(words);
      expect(row).toMatchObject({ quota: 0 });
    }
  },
);

test('an answer whose base_resp says that all is well, and one that has a code of its own, are answers', async () => {
  await open('minimax');
  const good = { ...completion(8, 1), base_resp: { status_code: 0, status_msg: '' }, code: 7, message: 'hi' };
  bench.upstream.script((response) => sendJson(response, good));
  expect((await ask('chat', false)).status).toBe(200);
});

beforeEach(() => bench.upstream.script((response) => sendJson(response, completion(8, 1))));

test.each<[string, object, Record<string, string>, string]>([
  ['milliseconds', { error: { message: 'slow' } }, { 'retry-after-ms': '2500' }, '3'],
  ['a limit that is used up', { error: { message: 'slow' } }, { 'x-ratelimit-reset-requests': '20s' }, '20'],
  [
    'Google’s details',
    { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow', details: [{ retryDelay: '36.2s' }] } },
    {},
    '37',
  ],
  ['words', { error: { message: 'Rate limit reached. Please try again in 7.5s.' } }, {}, '8'],
  ['seconds', { error: { message: 'slow' } }, { 'retry-after': '4' }, '4'],
])('a wait in %s reaches the client as Retry-After', async (_name, body, headers, expected) => {
  await open('openai');
  bench.upstream.script((response) => sendJson(response, body, 429, headers));
  for (const client of clients.slice(0, 2)) {
    const { status, wait } = await ask(client, false);
    expect([status, wait]).toEqual([429, expected]);
  }
});

test('of several limits the longest that is used up counts, as far as clients wait; points in time are seen from the upstream’s clock', () => {
  const headers = (members: Record<string, string>) => new Headers(members);
  const both = { 'x-ratelimit-reset-requests': '1m', 'x-ratelimit-reset-tokens': '20s' };
  expect(retryAfterIn(headers(both), 429)).toBe(60);
  expect(retryAfterIn(headers({ ...both, 'x-ratelimit-remaining-requests': '5' }), 429)).toBe(20);
  expect(retryAfterIn(headers({ 'x-ratelimit-reset-tokens': '6h' }), 429)).toBe(300);
  expect(retryAfterIn(headers(both), 500)).toBeNull();
  const date = 'Sun, 29 Nov 2026 01:00:00 GMT';
  const later = Date.parse(date) + 30_000;
  expect(retryAfterIn(headers({ date, 'x-ratelimit-reset': String(later) }), 429)).toBe(30);
  expect(retryAfterIn(headers({ date, 'x-ratelimit-reset': String(later / 1000) }), 429)).toBe(30);
  const anthropic = { date, 'anthropic-ratelimit-tokens-reset': '2026-11-29T01:00:12Z' };
  expect(retryAfterIn(headers({ ...anthropic, 'anthropic-ratelimit-tokens-remaining': '0' }), 429)).toBe(12);
  expect(retryAfterIn(headers({ 'x-ratelimit-reset': String(later) }), 429)).toBeNull();
});

test.each([
  ['37s', 37],
  ['2.463586755s', 2.463586755],
  ['1m30s', 90],
  ['250ms', 0.25],
  ['6h5m', 21_900],
  ['12', 12],
  ['soon', null],
  ['-3s', null],
  ['0s', null],
  ['1e9s', null],
])('a wait written as %s is %s seconds', (words, expected) => expect(secondsIn(words)).toBe(expected));

test('a wait is read from members before words, and words ask for no more than a minute', () => {
  expect(waitHint({ error: { message: 'try again in 9s', retry_after: 3 } })).toBe(3);
  expect(waitHint({ error: { message: 'm', resets_in_seconds: 7200 } })).toBe(7200);
  expect(waitHint({ error: { message: 'm', metadata: { retry_after_seconds: 4 } } })).toBe(4);
  expect(waitHint({ message: 'Please retry after 45 seconds.' })).toBe(45);
  expect(waitHint({ error: { message: 'he said: try again in 5h' } })).toBe(60);
  expect(waitHint({ error: { message: 'try again later' } })).toBeNull();
  expect(waitHint(null)).toBeNull();
});

test('a wait that no header can say is a month', () => {
  const error = { status: 429, type: null, code: null, message: 'm', retryAfter: 1e308 };
  expect(statusFailure(429, error, null).retryAfter).toBe(31 * 86_400);
  expect(statusFailure(429, error, 7).retryAfter).toBe(7);
});
