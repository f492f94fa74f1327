/** Counts of tokens: by the upstream where it counts in the client's own dialect, here where it does not or fails; free either way. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeServiceAccount } from '../doubles/doubles/vertex.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
type Script = Parameters<Upstream['script']>[0];
const counting: Script = (response, { path }) =>
  path.includes('countTokens')
    ? sendJson(response, { totalTokens: 4711, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 4711 }] })
    : sendJson(response, { input_tokens: 4711 });

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(counting);
  await gateway.channel(upstream.url, { type: 14, models: 'claude,mapped', model_mapping: '{"mapped":"claude-real"}' });
  await gateway.channel(upstream.url, { type: 24, models: 'gemini-x' });
  await gateway.channel(upstream.url, { type: 1, models: 'gpt' });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const messages = [{ role: 'user', content: 'one two three' }];
async function count(path: string, body: unknown, headers: Record<string, string> = {}) {
  const before = upstream.requests.length;
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { 'x-api-key': `sk-${key}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
    path,
    { ip: () => '' },
  );
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, answer, sent: upstream.requests.slice(before) };
}

test('Anthropic counts for its clients, byte for byte, and no user is charged', async () => {
  upstream.script(counting);
  const balance = await gateway.balance();
  const body = '{ "model":"claude", "messages":[{"role":"user","content":"hi"}] }';
  const { answer, sent } = await count('/v1/messages/count_tokens', body, { 'anthropic-beta': 'a-b-1' });
  expect(answer).toEqual({ input_tokens: 4711 });
  expect(sent.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens']);
  expect(sent[0]?.body.toString('utf8')).toBe(body);
  expect(sent[0]?.headers).toMatchObject({ 'anthropic-beta': 'a-b-1', 'x-api-key': 'sk-upstream-secret-key' });
  expect(await gateway.balance()).toBe(balance);
  expect(await gateway.logs()).toEqual([]);
});

test('members that the channel does not take are left out of its count, and of nothing else', async () => {
  upstream.script(counting);
  const id = await gateway.channel(upstream.url, { type: 14, models: 'claude-strict,claude-other' });
  const model = 'claude-strict';
  await gateway.services.unsupportedMembers.store(id, 'hand', [
    { model, member: 'anthropic-messages:output_config.effort' },
    { model, member: 'anthropic-messages:anthropic-beta=context-1m-2025-08-07' },
  ]);
  await gateway.sync();
  const sentFor = async (of: string) => {
    const body = { model: of, messages, output_config: { effort: 'low' } };
    const betas = { 'anthropic-beta': 'context-1m-2025-08-07,a-b-1' };
    const { sent } = await count('/v1/messages/count_tokens', body, betas);
    return sent.map(({ body: text, headers }) => [JSON.parse(text.toString('utf8')), headers['anthropic-beta']]);
  };
  expect(await sentFor(model)).toEqual([[{ model, messages }, 'a-b-1']]);
  expect(await sentFor('claude-other')).toEqual([
    [{ model: 'claude-other', messages, output_config: { effort: 'low' } }, 'context-1m-2025-08-07,a-b-1'],
  ]);
});

test.each([
  ['/v1/messages/count_tokens', { model: 'mapped', messages }, '/v1/messages/count_tokens', 'input_tokens'],
  [
    '/v1beta/models/gemini-x:countTokens',
    { contents: [{ parts: [{ text: 'hi' }] }] },
    '/v1beta/models/gemini-x:countTokens',
    'totalTokens',
  ],
  ['/v1/responses/input_tokens', { model: 'gpt', input: 'hi' }, '/v1/responses/input_tokens', 'input_tokens'],
])('%s is asked upstream', async (path, body, requested, member) => {
  upstream.script(counting);
  const { answer, sent } = await count(path, body);
  expect(answer[member]).toBe(4711);
  expect(sent[0]?.path).toBe(requested);
  if ('model' in body && body.model === 'mapped')
    expect(JSON.parse(sent[0]?.body.toString('utf8') ?? '{}').model).toBe('claude-real');
});

const failures: readonly (readonly [string, Script, number])[] = [
  ['refuses', (response) => sendJson(response, { error: { message: 'no' } }, 401), 1],
  ['has no such call', (response) => sendJson(response, { error: { message: 'not found' } }, 404), 1],
  ['answers nonsense', (response) => sendJson(response, { ok: true }), 1],
  // A connection that was kept may have ended meanwhile: asked once more over a fresh one.
  ['breaks off', (response) => void response.destroy(), 2],
];
test.each(failures)(
  'the count is made here when the upstream %s, and the channel stays in use',
  async (_name, script, requested) => {
    upstream.script(script);
    const { status, answer } = await count('/v1/messages/count_tokens', { model: 'claude', messages });
    expect([status, answer]).toEqual([200, { input_tokens: 11 }]);
    expect(gateway.troubles).toEqual([]);
    const { answer: again, sent } = await count('/v1/messages/count_tokens', { model: 'claude', messages });
    expect([again, sent.length]).toEqual([{ input_tokens: 11 }, requested]);
  },
);

test.each([
  ['another dialect', '/v1/messages/count_tokens', { model: 'gpt', messages }],
  ['a model nobody has', '/v1/messages/count_tokens', { model: 'nobody', messages }],
  [
    'something another upstream keeps',
    '/v1/responses/input_tokens',
    { model: 'gpt', input: 'one two three', previous_response_id: 'resp_1' },
  ],
])('%s is counted here', async (_name, path, body) => {
  upstream.script(counting);
  const { answer, sent } = await count(path, body);
  expect(sent).toEqual([]);
  expect(answer.input_tokens).toBeLessThan(20);
});

const counters: Script = (response, { path }) =>
  path === '/token'
    ? sendJson(response, { access_token: 'bought', expires_in: 3600 })
    : counting(response, { path } as Parameters<Script>[1]);

test('Bedrock counts by the model itself, whatever profile answers', async () => {
  upstream.script((response) => sendJson(response, { inputTokens: 4711 }));
  await gateway.channel(upstream.url, { type: 33, models: 'claude-sonnet-4-5-20250929,nova', key: 'ak|sk|us-east-1' });
  const { answer, sent } = await count('/v1/messages/count_tokens', { model: 'claude-sonnet-4-5-20250929', messages });
  expect(answer).toEqual({ input_tokens: 4711 });
  expect(sent.map(({ path }) => decodeURIComponent(path))).toEqual([
    '/model/anthropic.claude-sonnet-4-5-20250929-v1:0/count-tokens',
  ]);
  const { input } = JSON.parse(sent[0]?.body.toString('utf8') ?? '') as { input: { invokeModel: { body: string } } };
  expect(JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString('utf8'))).toEqual({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 1,
    messages,
  });
  expect((await count('/v1/messages/count_tokens', { model: 'nova', messages })).sent).toEqual([]);
});

test('Vertex counts for both of its families', async () => {
  upstream.script(counters);
  const { json } = makeServiceAccount(`${upstream.url}/token`);
  await gateway.channel(upstream.url, { type: 41, models: 'claude-opus-4-8,gemini-3-flash-preview', key: json });
  const place = '/v1/projects/practice-project/locations/us-central1/publishers';
  const claude = await count('/v1/messages/count_tokens', { model: 'claude-opus-4-8', messages });
  expect(claude.answer).toEqual({ input_tokens: 4711 });
  expect(claude.sent.at(-1)?.path).toBe(`${place}/anthropic/models/count-tokens:rawPredict`);
  expect(JSON.parse(claude.sent.at(-1)?.body.toString('utf8') ?? '')).toMatchObject({
    model: expect.stringContaining('claude-opus-4-8'),
    messages,
  });
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const gemini = await count('/v1beta/models/gemini-3-flash-preview:countTokens', { contents });
  expect(gemini.answer).toMatchObject({ totalTokens: 4711 });
  expect(gemini.sent.at(-1)?.path).toBe(`${place}/google/models/gemini-3-flash-preview:countTokens`);
  const wrapped = { generateContentRequest: { model: 'models/gemini-3-flash-preview', contents } };
  expect((await count('/v1beta/models/gemini-3-flash-preview:countTokens', wrapped)).sent).toEqual([]);
});

test('a channel pinned behind the key counts, and no other', async () => {
  upstream.script(counting);
  const own = await gateway.channel(`${upstream.url}/own`, { type: 14, models: 'twice', priority: 1 });
  await gateway.channel(`${upstream.url}/other`, { type: 14, models: 'twice', priority: 9 });
  const sent = async (pinned: string) => {
    const headers = { 'x-api-key': `sk-${key}${pinned}` };
    return (await count('/v1/messages/count_tokens', { model: 'twice', messages }, headers)).sent.map(
      ({ path }) => path,
    );
  };
  expect(await sent('')).toEqual(['/other/v1/messages/count_tokens']);
  expect(await sent(`-${own}`)).toEqual(['/own/v1/messages/count_tokens']);
});

test('a prompt that may not go upstream does not go there to be counted', async () => {
  upstream.script(counting);
  await gateway.option('CheckSensitiveEnabled', 'true');
  await gateway.option('CheckSensitiveOnPromptEnabled', 'true');
  await gateway.option('SensitiveWords', 'forbidden');
  const body = { model: 'claude', messages: [{ role: 'user', content: 'a forbidden thing' }] };
  expect((await count('/v1/messages/count_tokens', body)).sent).toEqual([]);
});

test('turns, and the names in tools, are part of a count that is made here', async () => {
  const counted = async (body: object) =>
    Number((await count('/v1/messages/count_tokens', { model: 'gpt', ...body })).answer.input_tokens);
  const turns = ['one', 'two', 'three'].map((content) => ({ role: 'user', content }));
  const apart = await counted({ messages: turns });
  expect(apart).toBe((await counted({ messages })) + 8);
  expect(await counted({ messages: turns.slice(1), system: 'one' })).toBe(apart);
  const properties = { search_query: { type: 'string' }, longest_answer_in_words: { type: 'integer' } };
  const tools = [{ name: 'f', input_schema: { type: 'object', properties } }];
  expect(await counted({ messages, tools })).toBeGreaterThan((await counted({ messages })) + 15);
  expect(await counted({ messages, tools: [] })).toBe(await counted({ messages }));
});

test('a very long prompt is counted by a sample of its beginning and its end, however its texts are cut', async () => {
  const counted = async (texts: readonly string[]) => {
    const content = texts.map((text) => ({ type: 'text', text }));
    const messages = [{ role: 'user', content }];
    return Number((await count('/v1/messages/count_tokens', { model: 'gpt', messages })).answer.input_tokens);
  };
  const sampled = 64 * 1024;
  const whole = 'word '.repeat((20 * sampled) / 5);
  const one = await counted([whole]);
  const cut = await counted([whole.slice(0, -sampled), whole.slice(-sampled)]);
  expect(cut / one).toBeGreaterThan(0.95);
  expect(cut / one).toBeLessThan(1.05);
});
