import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { encoder, meaning, readStream } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let practice: PracticeUpstream;
let key: string;
const dialects = Object.keys(codecs) as ProtocolId[];

beforeAll(async () => {
  practice = startPracticeUpstream({ port: 0 });
  gateway = await createTestGateway();
  for (const dialect of dialects) {
    await gateway.channel(practice.url, { type: 199, models: dialect, setting: JSON.stringify({ dialect }) });
  }
  await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(dialects.map((model) => [model, 1]))));
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await practice.stop();
});

const requests: Readonly<Record<ProtocolId, (model: string, stream: boolean) => { path: string; body: unknown }>> = {
  'openai-chat': (model, stream) => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'openai-responses': (model, stream) => ({ path: '/v1/responses', body: { model, stream, input: 'hi' } }),
  'anthropic-messages': (model, stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'gemini-generate': (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  }),
  'ollama-chat': (model, stream) => ({
    path: '/api/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'cohere-chat': (model, stream) => ({
    path: '/v2/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
};

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}?alt=sse`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, ...headers },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );

const pairs = dialects.flatMap((client) =>
  dialects.flatMap((upstream) => [true, false].map((stream) => [client, upstream, stream] as const)),
);

test.each(pairs)('%s client, %s upstream, stream %s: delivered, billed, logged', async (client, upstream, stream) => {
  const { path, body } = requests[client](upstream, stream);
  const response = await post(path, body);
  expect(response.status).toBe(200);
  const codec = codecs[client];
  const text = await response.text();
  const events = stream
    ? readStream(codec, encoder.encode(text))
    : codec.upstream.decodeResponse(JSON.parse(text) as unknown);
  expect(meaning(events)).toMatchObject({ text: expect.stringMatching(/^(practice ?){8}$/), finish: 'stop' });
  const [log] = await gateway.logs();
  expect(log).toMatchObject({
    model_name: upstream,
    is_stream: stream,
    usage_source: 'reported',
    end_reason: 'completed',
    completion_tokens: 8,
  });
  expect(gateway.relay.open()).toBe(0);
});

test.each(dialects)('%s: errors have the form of the dialect', async (client) => {
  const { path, body } = requests[client]('no-such-model', false);
  const response = await post(path, body);
  const answer = (await response.json()) as { error?: { message?: string } | string; message?: string; type?: string };
  expect(response.status).toBe(404);
  expect(codecs[client].upstream.decodeError(404, JSON.stringify(answer)).message).toContain('no-such-model');
  expect(answer.type).toBe(client === 'anthropic-messages' ? 'error' : undefined);
});

test('members that cannot be carried over are written into the log', async () => {
  const response = await post('/v1/chat/completions', {
    model: 'anthropic-messages',
    messages: [{ role: 'user', content: 'hi' }],
    seed: 7,
    logit_bias: { '1': 2 },
  });
  expect(response.status).toBe(200);
  const [log] = await gateway.logs();
  expect(JSON.parse(log?.other ?? '{}').dropped).toEqual([
    '/seed: not known to the upstream',
    '/logit_bias: not known to the upstream',
  ]);
});

test('the log shows the beginnings of many losses and of long names', async () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`member${at}`, 1]));
  const response = await post('/v1/chat/completions', {
    model: 'anthropic-messages',
    messages: [{ role: 'user', content: 'hi' }],
    ['y'.repeat(5000)]: 1,
    ...many,
  });
  expect(response.status).toBe(200);
  const [log] = await gateway.logs();
  const dropped: string[] = JSON.parse(log?.other ?? '{}').dropped;
  expect([dropped.length, dropped[0]?.length, dropped[1], dropped.at(-1)]).toEqual([
    65,
    301,
    '/member0: not known to the upstream',
    'and 37 more',
  ]);
});

test('a kept response cannot be continued at another kind of upstream', async () => {
  const response = await post('/v1/responses', {
    model: 'anthropic-messages',
    input: 'hi',
    previous_response_id: 'resp_1',
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'previous_response_not_found' } });
  expect(gateway.relay.open()).toBe(0);
  expect(await gateway.verify()).toEqual([]);
});
