import { expect, test } from 'vitest';
import { codecs } from '../../server/protocols/registry.ts';
import { sendJson } from '../support/upstream.ts';
import { chatOf, chunksOf, hi, providerBench, sendEvents, textOfMember } from './bench.ts';

const bench = providerBench();
const model = 'command-a-03-2025';
const usage = { billed_units: { input_tokens: 10, output_tokens: 5 }, tokens: { input_tokens: 507, output_tokens: 9 } };
const source = {
  type: 'document',
  id: 'd:0',
  document: { id: 'd:0', title: 'Facts', url: 'https://facts.example/1', text: 'Paris is the capital.' },
};
const answer = (message: object, finish_reason = 'COMPLETE') => ({
  id: 'c-1',
  message: { role: 'assistant', ...message },
  finish_reason,
  usage,
});
const delta = (type: string, message: object, index = 0) => ({ type, index, delta: { message } });
const end = (finish_reason: string) => ({ type: 'message-end', delta: { finish_reason, usage } });
const tools = [{ type: 'function', function: { name: 'now', description: 'time', parameters: { type: 'object' } } }];

test('a whole answer: thoughts, sources, what is paid for', async () => {
  const key = await bench.channel('cohere', model);
  bench.script((response) =>
    sendJson(
      response,
      answer({
        content: [
          { type: 'thinking', thinking: 'hmm' },
          { type: 'text', text: 'It is Paris.' },
        ],
        citations: [{ start: 6, end: 11, text: 'Paris', sources: [source], type: 'TEXT_CONTENT' }],
      }),
    ),
  );
  const documents = [{ id: 'd:0', data: { text: 'Paris is the capital.' } }];
  const schema = { type: 'object', required: ['a'], properties: { a: { type: 'string' } } };
  const response = await bench.gateway.chat(key, {
    model,
    max_tokens: 50,
    top_p: 0.9,
    stop: ['END'],
    presence_penalty: -1,
    frequency_penalty: 0.5,
    reasoning_effort: 'none',
    documents,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    messages: [{ role: 'system', content: 'be brief' }, ...hi],
  });
  const { choices, usage: reported } = await chatOf(response);
  expect(choices[0]).toMatchObject({
    message: {
      content: 'It is Paris.',
      reasoning_content: 'hmm',
      annotations: [
        {
          type: 'url_citation',
          url_citation: { start_index: 6, end_index: 11, url: 'https://facts.example/1', title: 'Facts' },
        },
      ],
    },
    finish_reason: 'stop',
  });
  expect(reported).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  expect(bench.sent().path).toBe('/v2/chat');
  expect(bench.sent().headers.authorization).toBe('Bearer sk-upstream-secret-key');
  expect(bench.sent().body).toEqual({
    model,
    stream: false,
    max_tokens: 50,
    p: 0.9,
    frequency_penalty: 0.5,
    presence_penalty: 0,
    stop_sequences: ['END'],
    response_format: { type: 'json_object', json_schema: schema },
    documents,
    messages: [{ role: 'system', content: 'be brief' }, ...hi],
  });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, usage_source: 'reported' });
});

test('streamed words with their sources, whichever comes last', async () => {
  const key = await bench.channel('cohere', model);
  bench.script((response) =>
    sendEvents(response, [
      { type: 'message-start', id: 'c-1', delta: { message: { role: 'assistant' } } },
      delta('content-start', { content: { type: 'text', text: '' } }),
      delta('content-delta', { content: { text: 'It is ' } }),
      delta('content-delta', { content: { text: 'Paris.' } }),
      { type: 'content-end', index: 0 },
      delta('citation-start', { citations: { start: 6, end: 11, text: 'Paris', sources: [source] } }),
      { type: 'citation-end', index: 0 },
      end('MAX_TOKENS'),
    ]),
  );
  const chunks = await chunksOf(
    await bench.gateway.chat(key, { model, messages: hi, stream: true, stream_options: { include_usage: true } }),
  );
  expect(textOfMember(chunks, 'content')).toBe('It is Paris.');
  expect(JSON.stringify(chunks)).toContain('"url":"https://facts.example/1"');
  expect(chunks.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason).toBe('length');
  expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  expect(bench.sent().body.stream).toBe(true);
  expect(await bench.log()).toMatchObject({ end_reason: 'completed', completion_tokens: 5 });
});

test('tools: a plan and calls come, calls and results go', async () => {
  const key = await bench.channel('cohere', model);
  const call = (fn: object) => ({ tool_calls: { id: 'now_1', type: 'function', function: fn } });
  bench.script((response) =>
    sendEvents(response, [
      { type: 'message-start', id: 'c-1', delta: { message: {} } },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'I look.' } } },
      delta('tool-call-start', call({ name: 'now', arguments: '' })),
      delta('tool-call-delta', { tool_calls: { function: { arguments: '{"zone":' } } }),
      delta('tool-call-delta', { tool_calls: { function: { arguments: '"CET"}' } } }),
      { type: 'tool-call-end', index: 0 },
      delta(
        'tool-call-start',
        { tool_calls: { id: 'now_2', type: 'function', function: { name: 'now', arguments: '' } } },
        1,
      ),
      { type: 'tool-call-end', index: 1 },
      end('TOOL_CALL'),
    ]),
  );
  const response = await bench.post('/v1/messages', key, {
    model,
    max_tokens: 9,
    messages: hi,
    stream: true,
    tools: [{ name: 'now', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any' },
  });
  const text = await response.text();
  const inputs = [...text.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)].map(([, json]) => JSON.parse(json ?? ''));
  expect(inputs.join('')).toBe('{"zone":"CET"}{}');
  expect(text).toContain('"text":"I look."');
  expect(text).toContain('"stop_reason":"tool_use"');
  expect(bench.sent().body).toMatchObject({
    tool_choice: 'REQUIRED',
    tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }],
  });
  bench.script((response) => sendJson(response, answer({ content: [{ type: 'text', text: 'noon' }] })));
  await bench.gateway.chat(key, {
    model,
    tools,
    messages: [
      ...hi,
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'now_1', type: 'function', function: { name: 'now', arguments: '{"zone":"CET"}' } }],
      },
      { role: 'tool', tool_call_id: 'now_1', content: '12:00' },
    ],
  });
  expect(bench.sent(1).body.messages).toEqual([
    ...hi,
    {
      role: 'assistant',
      tool_plan: 'I look.',
      tool_calls: [{ id: 'now_1', type: 'function', function: { name: 'now', arguments: '{"zone":"CET"}' } }],
    },
    { role: 'tool', tool_call_id: 'now_1', content: [{ type: 'text', text: '12:00' }] },
  ]);
  expect(bench.sent(1).body.tools).toEqual([
    {
      type: 'function',
      function: { name: 'now', description: 'time', parameters: { type: 'object' } },
    },
  ]);
});

test('a call without arguments that says null', async () => {
  const key = await bench.channel('cohere', model);
  const tool_calls = [{ id: 'now_1', type: 'function', function: { name: 'now', arguments: 'null' } }];
  bench.script((response) => sendJson(response, answer({ tool_plan: 'I look.', tool_calls }, 'TOOL_CALL')));
  const { choices } = await chatOf(await bench.gateway.chat(key, { model, messages: hi, tools }));
  expect(choices[0].message.tool_calls).toMatchObject([{ id: 'now_1', function: { name: 'now', arguments: '{}' } }]);
  expect(choices[0]).toMatchObject({ message: { content: 'I look.' }, finish_reason: 'tool_calls' });
});

test.each([
  [400, 400, 'bad model'],
  [498, 400, 'invalid token'],
  [429, 429, 'slow down'],
])('a refusal with %d is answered with %d', async (status, reported, message) => {
  const key = await bench.channel('cohere', model);
  bench.script((response) => sendJson(response, { id: 'e', message }, status));
  const response = await bench.gateway.chat(key, { model, messages: hi });
  expect(response.status).toBe(reported);
  // What lasts is quoted, what passes is not.
  expect((await response.text()).includes(message)).toBe(status !== 429);
});

test('a stream that fails is reported as such', async () => {
  const key = await bench.channel('cohere', model);
  bench.script((response) =>
    sendEvents(response, [
      { type: 'message-start', id: 'c-1', delta: {} },
      { type: 'message-end', delta: { finish_reason: 'ERROR', error: 'it broke' } },
    ]),
  );
  expect((await bench.gateway.chat(key, { model, messages: hi, stream: true })).status).toBe(502);
});

test('embeddings: what for, how long, what is paid for', async () => {
  const key = await bench.channel('cohere', 'embed-v4.0');
  bench.script((response) =>
    sendJson(response, { id: 'e', embeddings: { float: [[0.5, 1]] }, meta: { billed_units: { input_tokens: 6 } } }),
  );
  const ask = { model: 'embed-v4.0', input: 'a', dimensions: 256 };
  expect(await (await bench.post('/v1/embeddings', key, ask)).json()).toEqual({
    object: 'list',
    model: 'embed-v4.0',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, 1] }],
    usage: { prompt_tokens: 6, total_tokens: 6 },
  });
  await bench.post('/v1/embeddings', key, { ...ask, input_type: 'search_query' });
  expect(bench.sent().path).toBe('/v2/embed');
  expect(bench.sent().body).toEqual({
    model: 'embed-v4.0',
    texts: ['a'],
    input_type: 'search_document',
    embedding_types: ['float'],
    output_dimension: 256,
  });
  expect(bench.sent(1).body.input_type).toBe('search_query');
  expect(await bench.log()).toMatchObject({ prompt_tokens: 6, usage_source: 'reported' });
});

test('reranking: each path in its own form', async () => {
  const key = await bench.channel('cohere', 'rerank-v3.5');
  const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } };
  bench.script((response) =>
    sendJson(response, {
      id: 'r',
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ],
      meta,
    }),
  );
  const ask = { model: 'rerank-v3.5', query: 'capital', documents: ['Rome', { text: 'Paris' }], top_n: 2 };
  expect(await (await bench.post('/v1/rerank', key, ask)).json()).toEqual({
    model: 'rerank-v3.5',
    results: [
      { index: 1, relevance_score: 0.9, document: { text: 'Paris' } },
      { index: 0, relevance_score: 0.1, document: { text: 'Rome' } },
    ],
    meta: { billed_units: { search_units: 1 } },
  });
  expect(await (await bench.post('/v2/rerank', key, ask)).json()).toEqual({
    id: 'r',
    results: [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
    ],
    meta,
  });
  for (const index of [0, 1]) {
    expect(bench.sent(index).path).toBe('/v2/rerank');
    expect(bench.sent(index).body).toEqual({ ...ask, documents: ['Rome', 'Paris'] });
  }
  expect((await bench.post('/v1/rerank', key, { ...ask, documents: 'Rome' })).status).toBe(400);
});

test('words that name the end are not the end', () => {
  const ends = (value: object) => {
    const reader = codecs['cohere-chat'].upstream.reader();
    reader.feed({ event: '', data: JSON.stringify(value) });
    return reader.frameKind === 'terminal';
  };
  const content = { type: 'content-delta', delta: { message: { content: { text: 'message-end' } } } };
  expect([ends(content), ends({ type: 'message-end' }), ends({ type: 'content-end' })]).toEqual([false, true, false]);
});
