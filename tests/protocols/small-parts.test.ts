/** Small rules that all dialects share, at their edges. */
import { expect, test } from 'vitest';
import { createReader as createMessagesReader } from '../../server/protocols/anthropic-messages/reader.ts';
import { suffix as claudeSuffix } from '../../server/protocols/anthropic-messages/suffix.ts';
import { encodeUsage } from '../../server/protocols/anthropic-messages/usage.ts';
import type { Usage } from '../../server/protocols/canonical.ts';
import { createReader as createCohereReader } from '../../server/protocols/cohere-chat/reader.ts';
import { suffix as geminiSuffix } from '../../server/protocols/gemini-generate/suffix.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { readAnnotations, urlCitations } from '../../server/protocols/shared/citations.ts';
import { budgetOf, effortOf } from '../../server/protocols/shared/effort.ts';
import { namedBehind } from '../../server/protocols/shared/model-card.ts';
import { modelSuffix } from '../../server/protocols/shared/suffix.ts';
import { detailCount, emptyUsage, readModifiers, termValue, tokenCounts } from '../../server/protocols/shared/usage.ts';
import { context } from './support.ts';

const citation = (more: object) => ({
  url: 'https://a.example',
  title: null,
  quote: null,
  start: null,
  end: null,
  dialect: 'openai-chat' as const,
  raw: {},
  ...more,
});

test('a source without a place stands for its whole text, one without an address for nothing', () => {
  const url = 'https://a.example';
  expect(urlCitations([citation({})], 12)).toEqual([{ start_index: 0, end_index: 12, url, title: url }]);
  expect(urlCitations([citation({ start: 2, end: 5, title: 'A' })], 12)).toEqual([
    { start_index: 2, end_index: 5, url, title: 'A' },
  ]);
  expect(urlCitations([citation({ start: 2 }), citation({ url: null })], 12, 100)).toEqual([
    { start_index: 102, end_index: 112, url, title: url },
  ]);
});

test.each([
  [{ type: 'url_citation', url_citation: { url: 'u', title: 't', content: 'q', start_index: 1, end_index: 2 } }],
  [{ type: 'url_citation', url: 'u', title: 't', content: 'q', start_index: 1, end_index: 2 }],
])('an annotation is read nested and flat: %j', (annotation) => {
  expect(readAnnotations([annotation], 'openai-chat')).toEqual([
    { url: 'u', title: 't', quote: 'q', start: 1, end: 2, dialect: 'openai-chat', raw: annotation },
  ]);
  expect(readAnnotations('none', 'openai-chat')).toEqual([]);
});

test.each([
  ['priority', 'priority'],
  ['PRIORITY', 'priority'],
  ['SERVICE_TIER_FLEX', 'flex'],
  ['service_tier_', ''],
  ['', null],
  ['x'.repeat(64), 'x'.repeat(64)],
  ['x'.repeat(65), null],
  [7, null],
  [null, null],
])('the term %j is %j', (value, expected) => expect(termValue(value)).toBe(expected));

test('terms that an answer reports, and nothing where it reports none', () => {
  expect(readModifiers({ service_tier: 'Flex', speed: undefined, region: 'us' })).toEqual({
    modifiers: { service_tier: 'flex', region: 'us' },
  });
  expect(readModifiers({ service_tier: null, speed: '' })).toBeUndefined();
});

test.each([
  [0, 0],
  [7, 7],
  [-1, 0],
  [1.5, 0],
  ['7', 7],
  ['7.5', 0],
  [undefined, 0],
  [Number.NaN, 0],
  [1e15, 0],
])('the detail %j counts as %d', (value, expected) => {
  expect(detailCount(value)).toBe(expected);
  // What is absent is nothing, what is no count makes the whole list unbelievable.
  const isCount = value === undefined || Number(value) === expected;
  expect(tokenCounts([1, value])).toEqual(isCount ? [1, expected] : null);
});

const plain = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
test.each([
  [
    { input: 3, output: 4 },
    { ...plain, input_tokens: 3, output_tokens: 4 },
  ],
  [
    { input: 1, audioInput: 2, imageInput: 4, audioOutput: 8 },
    { ...plain, input_tokens: 7, output_tokens: 8 },
  ],
  [
    { reasoning: 5, output: 1 },
    { ...plain, output_tokens: 6, output_tokens_details: { thinking_tokens: 5 } },
  ],
  [
    { cacheRead: 2, cacheWrite5m: 3 },
    { ...plain, cache_creation_input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 0 },
  ],
  [
    { cacheWrite5m: 3, cacheWrite1h: 1 },
    {
      ...plain,
      cache_creation_input_tokens: 4,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 1 },
      output_tokens: 0,
    },
  ],
  [
    { toolCalls: { web_search: 1 } },
    { ...plain, output_tokens: 0, server_tool_use: { web_fetch_requests: 0, web_search_requests: 1 } },
  ],
  [
    { toolCalls: { google_search: 2 } },
    { ...plain, output_tokens: 0, server_tool_use: { web_fetch_requests: 0, web_search_requests: 2 } },
  ],
  [{ toolCalls: { web_search: 0 } }, { ...plain, output_tokens: 0 }],
])('%j in Anthropic’s words is %j', (usage, expected) => {
  expect(encodeUsage({ ...emptyUsage, ...usage } as Usage)).toEqual(expected);
});

test('before anything is known the prompt is an estimate and the answer has begun', () => {
  expect(encodeUsage(null, 12)).toEqual({ ...plain, input_tokens: 12, output_tokens: 1 });
  expect(encodeUsage(null)).toEqual({ ...plain, output_tokens: 1 });
});

test('the end of a Messages stream is known by its event or by its data, and by nothing else', () => {
  const kindOf = (event: string, data: string) => {
    const reader = createMessagesReader();
    reader.feed({ event, data });
    return reader.frameKind;
  };
  expect(kindOf('message_stop', '{"type":"message_stop"}')).toBe('terminal');
  expect(kindOf('message_stop', '')).toBe('terminal');
  expect(kindOf('', '{"type":"message_stop"}')).toBe('terminal');
  expect(kindOf('content_block_delta', '{"delta":{"text":"message_stop"}}')).toBe('plain');
  expect(kindOf('message_delta', '{"type":"message_delta"}')).toBe('plain');
});

test('a Messages stream that said why it stops has stopped, whatever is missing behind it', () => {
  const reader = createMessagesReader();
  const feed = (event: object) => reader.feed({ event: '', data: JSON.stringify(event) });
  feed({ type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } });
  expect(reader.progress).toBe('going');
  feed({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
  expect(reader.progress).toBe('stopped');
});

test.each([
  [0, 'none'],
  [1, 'low'],
  [2048, 'low'],
  [2049, 'medium'],
  [8192, 'medium'],
  [8193, 'high'],
  [-1, null],
])('a budget of %i tokens in a word', (budget, word) => {
  expect(effortOf({ budget, effort: null, includeThoughts: null })).toBe(word);
});

test('Cohere: a block ends where the stream says so, or with the message; a refusal is written as text', () => {
  const read = (...events: object[]) => {
    const reader = codecs['cohere-chat'].upstream.reader();
    return events.flatMap((event) => reader.feed({ event: '', data: JSON.stringify(event) })).map(({ type }) => type);
  };
  const thought = {
    type: 'content-start',
    index: 0,
    delta: { message: { content: { type: 'thinking', thinking: 'a' } } },
  };
  const start = { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: 'a' } } } };
  const end = { type: 'message-end', delta: { finish_reason: 'COMPLETE' } };
  expect(read(thought, { type: 'content-end', index: 0 }).at(-1)).toBe('reasoning-end');
  const types = read(start, end);
  expect(types.indexOf('text-end')).toBeGreaterThan(types.indexOf('text-delta'));
  expect(types.indexOf('text-end')).toBeLessThan(types.indexOf('finish'));
  const writer = codecs['cohere-chat'].translation.writer(context);
  expect(writer.write({ type: 'refusal-delta', text: 'I will not' })).toContain('I will not');
});

test('Ollama: an answer says when it was made', () => {
  const encoded = codecs['ollama-chat'].translation.encodeResponse([], { ...context, created: 1_700_000_000 });
  expect(encoded).toMatchObject({ created_at: '2023-11-14T22:13:20.000Z' });
});

test('Gemini: a call that is required may be of any tool', () => {
  const request = {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
  };
  const sent = (tool_choice: string) => {
    const requested = { ...request, tool_choice };
    const decoded = codecs['openai-chat'].translation.decodeRequest(requested, { model: 'm', stream: false });
    return codecs['gemini-generate'].translation.encodeRequest(decoded, []);
  };
  expect(JSON.stringify(sent('required'))).toContain('"mode":"ANY"');
  expect(JSON.stringify(sent('none'))).toContain('"mode":"NONE"');
});

test('Cohere: the words of an end in an answer are none', () => {
  const kindOf = (event: string, data: object) => {
    const reader = createCohereReader();
    reader.feed({ event, data: JSON.stringify(data) });
    return reader.frameKind;
  };
  const content = { type: 'content-delta', delta: { message: { content: { text: 'message-end' } } } };
  expect(kindOf('content-delta', content)).toBe('plain');
  expect(kindOf('message-end', { type: 'message-end' })).toBe('terminal');
  expect(kindOf('message-end', {})).toBe('terminal');
});

test.each([
  ['minimal', 1024],
  ['low', 2048],
  ['medium', 8192],
  ['high', 24_576],
  ['xhigh', 32_000],
  ['max', 32_000],
  ['none', 0],
  ['some', -1],
])('the word %s as a budget of tokens', (effort, budget) => {
  expect(budgetOf({ effort, budget: null, includeThoughts: null })).toBe(budget);
});

test.each([
  ['/v1/models', ''],
  ['/v1/models/', ''],
  ['/v1/models/a%2Fb', 'a/b'],
  ['/v1/models/a/b/', 'a/b'],
  ['/v1/models/a:generateContent', null],
  ['/v1/modelsque', null],
  ['/v1/model', null],
  ['/v2/models/a', null],
])('the model that %s names is %j', (path, name) => {
  expect(namedBehind(path, '/v1/models')).toBe(name);
});

test('Gemini: thoughts are shown where some are wished for, and not mentioned where none are', () => {
  const edits = (budget: number) =>
    JSON.parse(geminiSuffix.edits({}, modelSuffix('m', { budget }), null).get('generationConfig') ?? '');
  expect(edits(0)).toEqual({ thinkingConfig: { thinkingBudget: 0 } });
  expect(edits(1)).toEqual({ thinkingConfig: { thinkingBudget: 1, includeThoughts: true } });
});

test('Claude: a model whose name asks for thoughts has room for them, however short the answer was to be', () => {
  const edits = (body: object) =>
    Object.fromEntries(claudeSuffix.edits(body as never, modelSuffix('m', { share: 0.8 }), null));
  const thinking = (budget_tokens: number) => JSON.stringify({ type: 'enabled', budget_tokens });
  const room = { top_p: undefined, temperature: '1' };
  expect(edits({ max_tokens: 500 })).toEqual({ max_tokens: '1280', thinking: thinking(1024), ...room });
  expect(edits({ max_tokens: 10_000 })).toEqual({ max_tokens: '10000', thinking: thinking(8000), ...room });
});

test('a whole answer keeps the name that its maker gave it where it has the form of the client’s dialect', () => {
  const named = (id: string) =>
    codecs['openai-chat'].translation.encodeResponse(
      [{ type: 'response-start', id, model: 'm', created: null }],
      context,
    );
  expect(named('chatcmpl-7')).toMatchObject({ id: 'chatcmpl-7' });
  expect(named('msg_7')).toMatchObject({ id: `chatcmpl-${context.responseId}` });
});

test('Responses: unknown items are written as they came; a choice that was not made is automatic', () => {
  const { translation } = codecs['openai-responses'];
  const raw = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
  const writer = translation.writer(context);
  expect(writer.write({ type: 'unknown', dialect: 'openai-responses', raw })).toContain(JSON.stringify(raw));
  expect(translation.encodeResponse([], context)).toMatchObject({ tool_choice: 'auto' });
});

test.each([
  [529, 'overloaded_error'],
  [504, 'timeout_error'],
  [500, 'api_error'],
  [499, 'invalid_request_error'],
])('Messages: an error of the status %i is an %s', (status, type) => {
  const encoded = { status, type: 'error', code: 'c', message: 'm', requestId: 'r' };
  expect(codecs['anthropic-messages'].client.encodeError(encoded)).toMatchObject({ error: { type } });
});

test.each([
  [400, 'INVALID_ARGUMENT'],
  [413, 'INVALID_ARGUMENT'],
  [415, 'INVALID_ARGUMENT'],
  [416, 'FAILED_PRECONDITION'],
  [529, 'UNAVAILABLE'],
  [599, 'INTERNAL'],
])('Gemini: an error of the status %i is %s', (status, word) => {
  const encoded = { status, type: 'error', code: 'c', message: 'm', requestId: 'r' };
  expect(codecs['gemini-generate'].client.encodeError(encoded)).toMatchObject({ error: { status: word } });
});
