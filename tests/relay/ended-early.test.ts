/** A truncated response is never delivered as a complete one, nor a complete one as truncated. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { encoder, meaning, readStream, streamOf } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { heardOf } from '../support/heard.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let answering: (response: ServerResponse) => void;

beforeAll(async () => {
  upstream = await startUpstream((response) => answering(response));
  gateway = await createTestGateway();
  for (const dialect of dialects)
    await gateway.channel(upstream.url, { type: 199, models: dialect, setting: JSON.stringify({ dialect }) });
  await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(dialects.map((model) => [model, 1]))));
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const messages = [{ role: 'user', content: 'hi' }];
const requests: Readonly<Record<ProtocolId, (model: string) => { path: string; body: unknown }>> = {
  'openai-chat': (model) => ({
    path: '/v1/chat/completions',
    body: { model, stream: true, messages, stream_options: { include_usage: true } },
  }),
  'openai-responses': (model) => ({ path: '/v1/responses', body: { model, stream: true, input: 'hi' } }),
  'anthropic-messages': (model) => ({ path: '/v1/messages', body: { model, stream: true, max_tokens: 9, messages } }),
  'gemini-generate': (model) => ({
    path: `/v1beta/models/${model}:streamGenerateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  }),
  'ollama-chat': (model) => ({ path: '/api/chat', body: { model, stream: true, messages } }),
  'cohere-chat': (model) => ({ path: '/v2/chat', body: { model, stream: true, messages } }),
};

/** @returns what the client makes of it; it hears an error, or its connection breaks off. */
async function received(client: ProtocolId, model: ProtocolId, answer: (response: ServerResponse) => void) {
  answering = answer;
  const { path, body } = requests[client](model);
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}?alt=sse`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  const { text } = await heardOf(response);
  const events = response.status === 200 ? readStream(codecs[client], encoder.encode(text)) : [];
  const [log] = await gateway.logs();
  return { status: response.status, text, events, log };
}

const print = (text: string, finish: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...finish }],
});
const usageMetadata = { promptTokenCount: 120, candidatesTokenCount: 30, totalTokenCount: 150 };
const whole = [print('Hel{'), print('"lo\\ '), { ...print('world', { finishReason: 'STOP' }), usageMetadata }];
/** In pieces that end anywhere. */
const listed =
  (items: readonly object[], size: number, space = 0) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' });
    const bytes = Buffer.from(JSON.stringify(items, null, space));
    for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size));
    response.end();
  };

test.each(dialects)('%s client: a list instead of events is read to its end', async (client) => {
  for (const [size, space] of [
    [1000, 0],
    [7, 2],
  ] as const) {
    const { status, events, log } = await received(client, 'gemini-generate', listed(whole, size, space));
    expect([status, meaning(events).text, events.at(-1)?.type]).toEqual([200, 'Hel{"lo\\ world', 'finish']);
    expect(log).toMatchObject({ end_reason: 'completed', usage_source: 'reported', prompt_tokens: 120 });
    expect(log).toMatchObject({ completion_tokens: 30, is_stream: true });
  }
});

test.each(dialects)('%s client: a list that was cut is no whole answer', async (client) => {
  const { text, events, log } = await received(client, 'gemini-generate', listed(whole.slice(0, 2), 1000));
  expect(text).toContain('Hel{');
  expect(events.at(-1)?.type).toBe('error');
  expect(log).toMatchObject({ end_reason: 'upstream_broken' });
});

test.each(dialects)('%s client: one whole response instead of events is delivered as a stream', async (client) => {
  const { events } = await received(client, 'gemini-generate', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...print('hello', { finishReason: 'STOP' }), usageMetadata }, null, 2));
  });
  expect(meaning(events)).toMatchObject({ text: 'hello', finish: 'stop', output: 30 });
});

test.each(dialects)('%s client: an error in a list is an error', async (client) => {
  const error = { error: { code: 400, message: 'too long', status: 'INVALID_ARGUMENT' } };
  const { status } = await received(client, 'gemini-generate', listed([error], 1000));
  expect(status).toBe(400);
});

const pairs = dialects.flatMap((client) => dialects.map((model) => [client, model] as const));
const plain = scenarios['plain text'] ?? [];
const framesOf = (dialect: ProtocolId): string[] =>
  streamOf(codecs[dialect], plain)
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => `${frame}\n\n`);

test.each(pairs)('%s client, %s upstream: text without an end is delivered as broken off', async (client, model) => {
  const frames = framesOf(model);
  const { events, log } = await received(client, model, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(frames.slice(0, frames.findIndex((frame) => frame.includes('world')) + 1).join(''));
  });
  expect(meaning(events).text).toContain('world');
  expect(events.at(-1)?.type).toBe('error');
  expect(log).toMatchObject({ end_reason: 'upstream_broken' });
});

test.each(dialects)('%s client: counts alone are no answer', async (client) => {
  const { status } = await received(client, 'gemini-generate', (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ usageMetadata: { promptTokenCount: 120 } })}\n\n`);
  });
  expect(status).toBe(502);
});

const others = dialects.filter((client) => client !== 'gemini-generate');
const failing = ['OTHER', 'MISSING_THOUGHT_SIGNATURE', 'TOO_MANY_TOOL_CALLS', 'MALFORMED_FUNCTION_CALL'];

test.each(failing)(
  'a finish reason by which the model reports a failure is an error with its message: %s',
  async (finishReason) => {
    const finishMessage = 'Malformed function call: print(1)';
    const failed = { candidates: [{ finishReason, finishMessage }], usageMetadata: { promptTokenCount: 120 } };
    const thought = { candidates: [{ content: { parts: [{ text: 'hm', thought: true }] } }] };
    const events = (response: ServerResponse, answers: readonly object[]) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(answers.map((answer) => `data: ${JSON.stringify(answer)}\n\n`).join(''));
    };
    for (const client of others) {
      const { status, text, log } = await received(client, 'gemini-generate', (response) => events(response, [failed]));
      expect([client, status, text]).toEqual([client, 422, expect.stringContaining(finishMessage)]);
      expect(log).toMatchObject({ end_reason: 'upstream_failed', quota: 0 });
      expect(log?.content).toContain(finishMessage);
      const whole = await received(client, 'gemini-generate', (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(failed));
      });
      expect([whole.status, whole.text]).toEqual([422, expect.stringContaining(finishMessage)]);
      const outcome = await received(client, 'gemini-generate', (response) => events(response, [thought, failed]));
      expect([client, outcome.events.at(-1)?.type]).toEqual([client, 'error']);
    }
    const own = await received('gemini-generate', 'gemini-generate', (response) => events(response, [failed]));
    expect([own.status, own.text]).toEqual([200, expect.stringContaining(finishMessage)]);
  },
);

test.each([
  ['model_context_window_exceeded', 'length'],
  ['safety', 'content_filter'],
])('a chat answer that ends with %s ends for everybody with %s', async (finish_reason, expected) => {
  for (const client of dialects.filter((dialect) => dialect !== 'openai-chat')) {
    const { events } = await received(client, 'openai-chat', (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const choices = [{ index: 0, delta: { content: 'Hel' }, finish_reason }];
      response.end(`data: ${JSON.stringify({ id: 'x', choices })}\n\ndata: [DONE]\n\n`);
    });
    expect([client, meaning(events).finish]).toEqual([client, expected]);
  }
});

const anthropic = (...events: readonly Record<string, unknown>[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const started = [
  { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 120, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
];

test.each(dialects)('%s client: a last event is an end, also where no reason was given', async (client) => {
  for (const delta of [{ stop_reason: null }, {}]) {
    const { events, text, log } = await received(client, 'anthropic-messages', (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        anthropic(...started, { type: 'message_delta', delta, usage: { output_tokens: 30 } }, { type: 'message_stop' }),
      );
    });
    expect(meaning(events)).toMatchObject({ text: 'hello', finish: 'stop', output: 30 });
    if (client === 'anthropic-messages') expect(text).toContain('message_stop');
    expect(log).toMatchObject({ end_reason: 'completed', completion_tokens: 30 });
  }
});

test.each(['content_filter', 'length', 'stop'])(
  'an answer without words, usage and end mark reaches a client of its dialect (%s)',
  async (finish_reason) => {
    const call = { tool_calls: [{ index: 0, id: 'c', function: { arguments: '{"a":1}' } }] };
    const frames = [
      { delta: finish_reason === 'stop' ? call : { role: 'assistant' }, finish_reason: null },
      { delta: {}, finish_reason },
    ].map((choice) => `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\n`);
    const { text, log } = await received('openai-chat', 'openai-chat', (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(frames.join(''));
    });
    expect(text).toContain(frames.join(''));
    expect(log).toMatchObject({ end_reason: 'completed' });
  },
);
