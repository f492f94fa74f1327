import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { sendJson } from '../support/upstream.ts';
import { chatOf, chunksOf, hi, providerBench, textOfMember } from './bench.ts';

const bench = providerBench();
const model = 'qwen3:8b';
const done = { done: true, done_reason: 'stop', prompt_eval_count: 10, eval_count: 5 };
const message = (fields: object) => ({ model, message: { role: 'assistant', content: '', ...fields }, done: false });
const sendLines = async (response: ServerResponse, lines: readonly unknown[], cut = 1_000_000) => {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  for (let at = 0; at < bytes.length; at += cut) {
    response.write(bytes.subarray(at, at + cut));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
};

test('a whole answer: options, thinking, pictures, structured output, usage', async () => {
  const key = await bench.channel('ollama', model, { param_override: '{"keep_alive":"1h"}' });
  bench.script((response) => sendJson(response, { ...message({ content: 'hello', thinking: 'hmm' }), ...done }));
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const answer = await bench.gateway.chat(key, {
    model,
    max_tokens: 50,
    temperature: 0.5,
    seed: 7,
    stop: 'END',
    reasoning_effort: 'high',
    options: { num_ctx: 16_384 },
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    messages: [
      { role: 'developer', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
        ],
      },
    ],
  });
  const { choices, usage } = await chatOf(answer);
  expect(choices[0]).toMatchObject({
    message: { content: 'hello', reasoning_content: 'hmm' },
    finish_reason: 'stop',
  });
  expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  expect(bench.sent().path).toBe('/api/chat');
  expect(bench.sent().headers.authorization).toBe('Bearer sk-upstream-secret-key');
  expect(bench.sent().body).toEqual({
    model,
    stream: false,
    think: 'high',
    format: schema,
    keep_alive: '1h',
    options: { temperature: 0.5, num_predict: 50, seed: 7, stop: ['END'], num_ctx: 16_384 },
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'what is this?', images: ['iVBO'] },
    ],
  });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, usage_source: 'reported' });
});

test('a stream cut anywhere: thoughts, words, usage', async () => {
  const key = await bench.channel('ollama', model);
  bench.script((response) =>
    sendLines(
      response,
      [
        message({ thinking: 'hm' }),
        message({ content: 'héł' }),
        message({ content: 'lo' }),
        { ...message({}), ...done },
      ],
      7,
    ),
  );
  const chunks = await chunksOf(
    await bench.gateway.chat(key, { model, messages: hi, stream: true, stream_options: { include_usage: true } }),
  );
  expect(textOfMember(chunks, 'reasoning_content')).toBe('hm');
  expect(textOfMember(chunks, 'content')).toBe('héłlo');
  expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  expect(bench.sent().body).toEqual({ model, stream: true, messages: hi });
  expect(await bench.log()).toMatchObject({ end_reason: 'completed', completion_tokens: 5 });
});

test('tools: offered, called, answered', async () => {
  const key = await bench.channel('ollama', model);
  const tools = [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }];
  bench.script((response) =>
    sendLines(response, [
      message({ tool_calls: [{ function: { name: 'now', arguments: { zone: 'CET' } } }] }),
      { ...message({}), ...done },
    ]),
  );
  const chunks = await chunksOf(await bench.gateway.chat(key, { model, messages: hi, tools, stream: true }));
  const calls = chunks.flatMap(
    ({ choices }) => (choices[0]?.delta.tool_calls ?? []) as { function: { name?: string; arguments: string } }[],
  );
  expect(calls[0]?.function.name).toBe('now');
  expect(calls.map((call) => call.function.arguments).join('')).toBe('{"zone":"CET"}');
  expect(chunks.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason).toBe('tool_calls');
  bench.script((response) => sendJson(response, { ...message({ content: 'noon' }), ...done }));
  await bench.gateway.chat(key, {
    model,
    tools,
    tool_choice: 'none',
    messages: [
      ...hi,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'now', arguments: '{"zone":"CET"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '12:00' },
    ],
  });
  expect(bench.sent(0).body.tools).toEqual([
    { type: 'function', function: { name: 'now', description: '', parameters: { type: 'object', properties: {} } } },
  ]);
  expect(bench.sent(1).body).toEqual({
    model,
    stream: false,
    messages: [
      ...hi,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', function: { name: 'now', arguments: { zone: 'CET' } } }],
      },
      { role: 'tool', content: '12:00', tool_name: 'now', tool_call_id: 'c1' },
    ],
  });
});

test('an Anthropic client reaches it too', async () => {
  const key = await bench.channel('ollama', model);
  bench.script((response) => sendJson(response, { ...message({ content: 'hello' }), ...done, done_reason: 'length' }));
  const response = await bench.post('/v1/messages', key, { model, max_tokens: 9, messages: hi });
  expect(await response.json()).toMatchObject({
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'max_tokens',
    usage: { input_tokens: 10, output_tokens: 5 },
  });
});

test('errors: before the answer, inside of the stream', async () => {
  const key = await bench.channel('ollama', model);
  bench.script((response) => sendJson(response, { error: 'invalid options: temperature' }, 400));
  const rejected = await bench.gateway.chat(key, { model, messages: hi });
  expect(rejected.status).toBe(400);
  expect(await rejected.text()).toContain('invalid options: temperature');
  bench.script((response) => sendLines(response, [{ error: 'out of memory' }]));
  expect((await bench.gateway.chat(key, { model, messages: hi, stream: true })).status).toBe(502);
  expect(await bench.log()).toMatchObject({ type: 5, quota: 0 });
});

test('embeddings: texts in, a list out, as numbers or as bytes', async () => {
  const key = await bench.channel('ollama', 'nomic-embed-text');
  bench.script((response) =>
    sendJson(response, {
      model: 'nomic-embed-text',
      embeddings: [
        [0.5, 1],
        [2, -1],
      ],
      prompt_eval_count: 8,
    }),
  );
  const ask = { model: 'nomic-embed-text', input: ['a', 'b'], dimensions: 2 };
  const plain = (await (await bench.post('/v1/embeddings', key, ask)).json()) as { data: object[]; usage: object };
  expect(plain).toEqual({
    object: 'list',
    model: 'nomic-embed-text',
    data: [
      { object: 'embedding', index: 0, embedding: [0.5, 1] },
      { object: 'embedding', index: 1, embedding: [2, -1] },
    ],
    usage: { prompt_tokens: 8, total_tokens: 8 },
  });
  expect(bench.sent().path).toBe('/api/embed');
  expect(bench.sent().body).toEqual({ model: 'nomic-embed-text', input: ['a', 'b'], dimensions: 2 });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 8, usage_source: 'reported' });
  const bytes = (await (await bench.post('/v1/embeddings', key, { ...ask, encoding_format: 'base64' })).json()) as {
    data: { embedding: string }[];
  };
  const first = new Float32Array(Uint8Array.from(Buffer.from(bytes.data[0]?.embedding ?? '', 'base64')).buffer);
  expect([...first]).toEqual([0.5, 1]);
});

test('embeddings for a Gemini client, and refused for token lists', async () => {
  const key = await bench.channel('ollama', 'nomic-embed-text');
  bench.script((response) => sendJson(response, { embeddings: [[0.5]], prompt_eval_count: 3 }));
  const gemini = await bench.post('/v1beta/models/nomic-embed-text:embedContent', key, {
    content: { parts: [{ text: 'a' }] },
  });
  expect(await gemini.json()).toEqual({ embedding: { values: [0.5] } });
  expect(bench.sent().body).toEqual({ model: 'nomic-embed-text', input: ['a'] });
  expect((await bench.post('/v1/embeddings', key, { model: 'nomic-embed-text', input: [[1, 2]] })).status).toBe(400);
  bench.script((response) => sendJson(response, { error: 'model "x" not found, try pulling it first' }, 404));
  expect((await bench.post('/v1/embeddings', key, { model: 'nomic-embed-text', input: 'a' })).status).toBe(400);
});

test.each(['', '/v1', '/api/chat'])('an address that ends in "%s" is understood', async (path) => {
  const key = await bench.channel('ollama', model, { base_url: `${bench.upstream.url}${path}` });
  bench.script((response) => sendJson(response, { ...message({ content: 'hello' }), ...done }));
  expect((await bench.gateway.chat(key, { model, messages: hi })).status).toBe(200);
  expect(bench.sent().path).toBe('/api/chat');
});
