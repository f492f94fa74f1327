/** Oddities of upstreams that speak the chat dialect almost. */
import { expect, test } from 'vitest';
import { codecs } from '../../server/protocols/registry.ts';
import { context, meaning } from './support.ts';

const { upstream } = codecs['openai-chat'];
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

const streamed = (chunks: readonly Record<string, unknown>[], done = true) => {
  const reader = upstream.reader();
  const events = chunks.flatMap((chunk) => reader.feed({ event: '', data: JSON.stringify({ id: 'c', ...chunk }) }));
  return [...events, ...(done ? reader.feed({ event: '', data: '[DONE]' }) : []), ...reader.end()];
};

test('text that stands in text and in delta is written once', () => {
  const chunk = (words: string, more: Record<string, unknown> = {}) => ({
    choices: [{ index: 0, text: words, delta: { token_id: 1, role: 'assistant', content: words }, ...more }],
  });
  expect(meaning(streamed([chunk('Hello'), chunk(' world'), chunk('', { finish_reason: 'eos' })])).text).toBe(
    'Hello world',
  );
  const thinking = { choices: [{ index: 0, text: 'hm', delta: { reasoning: 'hm', content: null } }] };
  expect(meaning(streamed([thinking, chunk('Hi')]))).toMatchObject({ text: 'Hi', thoughts: 'hm' });
});

test('text that stands in text alone is written too', () => {
  const chunk = (words: string, delta?: Record<string, unknown>) => ({ choices: [{ index: 0, text: words, delta }] });
  expect(meaning(streamed([chunk('a'), chunk('b', {})])).text).toBe('ab');
});

test('a whole answer with a message and an empty delta says what the message says', () => {
  const answer = (delta: Record<string, unknown>) => ({
    id: 'c',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Paris' }, delta }],
    usage,
  });
  for (const delta of [{}, { role: 'assistant', content: '' }])
    expect(meaning(upstream.decodeResponse(answer(delta)))).toMatchObject({ text: 'Paris', output: 2 });
});

test('in a stream the message beside a delta repeats what was said', () => {
  const chunk = (delta: string, message: string) => ({
    choices: [{ index: 0, delta: { content: delta }, message: { role: 'assistant', content: message } }],
  });
  expect(meaning(streamed([chunk('Par', 'Par'), chunk('is', 'Paris')])).text).toBe('Paris');
});

test.each([
  [
    '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]},"type":"invalid_request_error","code":null}',
    'body.stream_options: Extra inputs are not permitted',
  ],
  [
    '{"detail":[{"loc":["body","messages",0],"msg":"Field required"},{"loc":["body","seed"],"msg":"Bad"}]}',
    'body.messages.0: Field required; body.seed: Bad',
  ],
])('a validator’s findings are in the message: %s', (body, message) =>
  expect(upstream.decodeError(422, body)).toMatchObject({ status: 422, message }),
);

test('the reason why a stream was stopped early is reported', () => {
  const events = streamed(
    [
      { choices: [{ index: 0, delta: { content: 'a' } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: null }], x_groq: { id: 'req_1', error: 'over capacity' } },
    ],
    false,
  );
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: 'over capacity' } });
});

test('an error inside of a stream keeps its status', () => {
  const error = {
    message: 'Failed to call a function',
    type: 'invalid_request_error',
    code: 'tool_use_failed',
    status_code: 400,
  };
  const reader = upstream.reader();
  expect(reader.feed({ event: 'error', data: JSON.stringify({ error }) }).at(-1)).toEqual({
    type: 'error',
    error: {
      status: 400,
      type: 'invalid_request_error',
      code: 'tool_use_failed',
      message: 'Failed to call a function',
    },
  });
});

const response = (output: readonly unknown[]) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
});
const answerOf = (dialect: 'openai-chat' | 'anthropic-messages' | 'gemini-generate', output: readonly unknown[]) =>
  JSON.stringify(
    codecs[dialect].translation.encodeResponse(
      codecs['openai-responses'].upstream.decodeResponse(response(output)),
      context,
    ),
  );

test.each(['openai-chat', 'anthropic-messages', 'gemini-generate'] as const)(
  'a picture that a response made reaches a client of %s',
  (dialect) => {
    const drawn = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      result: 'AAECAw==',
      output_format: 'webp',
    };
    const encoded = answerOf(dialect, [drawn]);
    expect(encoded).toContain('AAECAw==');
    expect(encoded).toContain('image/webp');
  },
);

test('a cited file has its name and id where a dialect wants an address', () => {
  const text = {
    type: 'output_text',
    text: 'As it says.',
    annotations: [{ type: 'file_citation', file_id: 'file-1', filename: 'a.pdf', index: 3 }],
  };
  const message = { type: 'message', id: 'msg_1', role: 'assistant', content: [text] };
  for (const dialect of ['openai-chat', 'anthropic-messages'] as const) {
    const encoded = answerOf(dialect, [message]);
    expect(encoded).toContain('"url":"file:file-1"');
    expect(encoded).toContain('a.pdf');
  }
});

test('an upstream whose words are objects is read all the same', () => {
  const odd = { toString: '' };
  const { decodeResponse } = codecs['anthropic-messages'].upstream;
  expect(() => decodeResponse({ type: 'message', content: [{ type: odd }] })).not.toThrow();
  expect(() => codecs['openai-responses'].upstream.readUsage(response([{ type: odd }]))).not.toThrow();
  const strange = { messages: [{ role: 'assistant', content: [{ type: odd }] }] };
  expect(codecs['anthropic-messages'].foreignBlocks?.(strange, { form: null, unsigned: false })).toEqual([]);
});
