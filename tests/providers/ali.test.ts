import { expect, test } from 'vitest';
import { completion, sendJson } from '../support/upstream.ts';
import { chatOf, hi, providerBench, sendEvents } from './bench.ts';

const bench = providerBench();

test('chat passes in OpenAI’s form; limits are moved into what is allowed, the plugin is named', async () => {
  const key = await bench.channel('ali', 'qwen-plus', { other: '{"code_interpreter":{}}' });
  bench.script((response) => sendJson(response, completion(10, 5)));
  await bench.gateway.chat(key, { model: 'qwen-plus', messages: hi, top_p: 1, temperature: 2, enable_search: true });
  await bench.gateway.chat(key, { model: 'qwen-plus', messages: hi, top_p: 0.5 });
  await bench.post('/v1/messages', key, { model: 'qwen-plus', messages: hi, max_tokens: 9, top_p: 1 });
  expect(bench.sent(0).path).toBe('/compatible-mode/v1/chat/completions');
  expect(bench.sent(0).headers['x-dashscope-plugin']).toBe('{"code_interpreter":{}}');
  expect(bench.sent(0).body).toEqual({
    model: 'qwen-plus',
    messages: hi,
    top_p: 0.999,
    temperature: 1.999,
    enable_search: true,
  });
  expect(bench.sent(1).body).toEqual({ model: 'qwen-plus', messages: hi, top_p: 0.5 });
  expect(bench.sent(2).body.top_p).toBe(0.999);
});

test('models that only stream are gathered for clients that want one piece', async () => {
  const key = await bench.channel('ali', 'qwq-plus,qwen3-32b');
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  bench.script((response) =>
    sendEvents(response, [
      chunk({ reasoning_content: 'hmm' }),
      chunk({ content: 'hel' }),
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
    ]),
  );
  const { choices, usage } = await chatOf(await bench.gateway.chat(key, { model: 'qwq-plus', messages: hi }));
  expect(choices[0].message).toMatchObject({ content: 'hello', reasoning_content: 'hmm' });
  expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  expect(bench.sent().body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, usage_source: 'reported' });
  bench.script((response) => sendJson(response, completion(10, 5)));
  await bench.gateway.chat(key, { model: 'qwen3-32b', messages: hi, enable_thinking: false });
  expect(bench.sent(1).body.stream).toBeUndefined();
});

test('ranking in its own form', async () => {
  const key = await bench.channel('ali', 'gte-rerank-v2');
  bench.script((response) =>
    sendJson(response, {
      output: { results: [{ index: 1, relevance_score: 0.9 }] },
      usage: { total_tokens: 79 },
      request_id: 'r-1',
    }),
  );
  const ask = { model: 'gte-rerank-v2', query: 'capital', documents: ['Rome', 'Paris'], top_n: 1 };
  expect(await (await bench.post('/v1/rerank', key, ask)).json()).toEqual({
    model: 'gte-rerank-v2',
    results: [{ index: 1, relevance_score: 0.9, document: { text: 'Paris' } }],
    usage: { total_tokens: 79, prompt_tokens: 79 },
  });
  expect(bench.sent().path).toBe('/api/v1/services/rerank/text-rerank/text-rerank');
  expect(bench.sent().body).toEqual({
    model: 'gte-rerank-v2',
    input: { query: 'capital', documents: ['Rome', 'Paris'] },
    parameters: { top_n: 1, return_documents: false },
  });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 79, usage_source: 'reported' });
  expect(await (await bench.post('/v2/rerank', key, ask)).json()).toMatchObject({
    id: 'r-1',
    results: [{ index: 1, relevance_score: 0.9 }],
  });
});

test('embeddings: of texts in OpenAI’s form, of pictures in its own', async () => {
  const key = await bench.channel('ali', 'text-embedding-v4,multimodal-embedding-v1');
  bench.script((response, { path }) =>
    path.includes('multimodal')
      ? sendJson(response, {
          output: {
            embeddings: [
              { index: 1, embedding: [2], type: 'image' },
              { index: 0, embedding: [1], type: 'text' },
            ],
          },
          usage: { input_tokens: 12, image_tokens: 500 },
        })
      : sendJson(response, { object: 'list', data: [], usage: { prompt_tokens: 3, total_tokens: 3 } }),
  );
  await bench.post('/v1/embeddings', key, { model: 'text-embedding-v4', input: 'a' });
  expect(bench.sent(0).path).toBe('/compatible-mode/v1/embeddings');
  const input = ['a', { image: 'https://pictures.example/1.png' }];
  const answer = await (await bench.post('/v1/embeddings', key, { model: 'multimodal-embedding-v1', input })).json();
  expect(answer).toMatchObject({
    data: [
      { index: 0, embedding: [1] },
      { index: 1, embedding: [2] },
    ],
  });
  expect(bench.sent(1).path).toBe('/api/v1/services/embeddings/multimodal-embedding/multimodal-embedding');
  expect(bench.sent(1).body).toEqual({
    model: 'multimodal-embedding-v1',
    input: { contents: [{ text: 'a' }, { image: 'https://pictures.example/1.png' }] },
  });
});

const task = (task_status: string, more: object = {}) => ({
  output: { task_id: 't-1', task_status, ...more },
  request_id: 'r-1',
});

test('pictures are ordered, asked after through trouble, and listed', async () => {
  const key = await bench.channel('ali', 'wanx2.1-t2i-turbo');
  const results = [
    { url: `${bench.upstream.url}/picture.png`, actual_prompt: 'a red dot' },
    { code: 'DataInspectionFailed', message: 'no' },
  ];
  const answers = [task('PENDING'), null, task('RUNNING'), task('SUCCEEDED', { results })];
  bench.script((response) => {
    const next = answers.shift() ?? null;
    sendJson(response, next ?? { message: 'try again' }, next === null ? 503 : 200);
  });
  const response = await bench.post('/v1/images/generations', key, {
    model: 'wanx2.1-t2i-turbo',
    prompt: 'a dot',
    n: 2,
    size: '1024x768',
    negative_prompt: 'blue',
  });
  expect(await response.json()).toEqual({
    created: expect.any(Number),
    data: [{ url: `${bench.upstream.url}/picture.png`, revised_prompt: 'a red dot' }],
  });
  expect(bench.sent(0)).toMatchObject({
    method: 'POST',
    path: '/api/v1/services/aigc/text2image/image-synthesis',
    headers: { 'x-dashscope-async': 'enable', authorization: 'Bearer sk-upstream-secret-key' },
    body: {
      model: 'wanx2.1-t2i-turbo',
      input: { prompt: 'a dot', negative_prompt: 'blue' },
      parameters: { n: 2, size: '1024*768' },
    },
  });
  for (const index of [1, 2, 3]) {
    expect(bench.sent(index)).toMatchObject({
      method: 'GET',
      path: '/api/v1/tasks/t-1',
      headers: { authorization: 'Bearer sk-upstream-secret-key' },
      body: null,
    });
  }
  expect(await bench.log()).toMatchObject({ end_reason: 'completed' });
  expect(await bench.gateway.verify()).toEqual([]);
});

test('the bytes are fetched for a client that wants them, without the key', async () => {
  const key = await bench.channel('ali', 'wanx-v1');
  const results = [{ url: `${bench.upstream.url}/picture.png` }];
  bench.script((response, { path }) =>
    path === '/picture.png' ? void response.end('PNG') : sendJson(response, task('SUCCEEDED', { results })),
  );
  const ask = { model: 'wanx-v1', prompt: 'a dot', response_format: 'b64_json' };
  expect(await (await bench.post('/v1/images/generations', key, ask)).json()).toMatchObject({
    data: [{ b64_json: Buffer.from('PNG').toString('base64') }],
  });
  expect(bench.sent(1).headers.authorization).toBeUndefined();
});

test('newer picture models answer at once', async () => {
  const key = await bench.channel('ali', 'qwen-image-max');
  const choices = [{ message: { role: 'assistant', content: [{ image: 'https://pictures.example/1.png' }] } }];
  bench.script((response) => sendJson(response, { output: { choices }, usage: { image_count: 1 } }));
  const response = await bench.post('/v1/images/generations', key, {
    model: 'qwen-image-max',
    prompt: 'a dot',
    size: '1328x1328',
  });
  expect(await response.json()).toMatchObject({ data: [{ url: 'https://pictures.example/1.png' }] });
  expect(bench.sent().path).toBe('/api/v1/services/aigc/multimodal-generation/generation');
  expect(bench.sent().headers['x-dashscope-async']).toBeUndefined();
  expect(bench.sent().body).toEqual({
    model: 'qwen-image-max',
    input: { messages: [{ role: 'user', content: [{ text: 'a dot' }] }] },
    parameters: { size: '1328*1328' },
  });
});

test.each([
  ['DataInspectionFailed', 400],
  ['InvalidParameter', 400],
  ['Throttling.RateQuota', 429],
  ['InternalError', 502],
])('work that fails with %s is answered with %d and costs nothing', async (code, status) => {
  const key = await bench.channel('ali', 'wanx-v1');
  bench.script((response) => sendJson(response, task('FAILED', { code, message: 'no' })));
  expect((await bench.post('/v1/images/generations', key, { model: 'wanx-v1', prompt: 'x' })).status).toBe(status);
  expect(await bench.log()).toMatchObject({ type: 5, quota: 0 });
});

test('a wrong key at the order is trouble of the key', async () => {
  const key = await bench.channel('ali', 'wanx-v1');
  bench.script((response) => sendJson(response, { code: 'InvalidApiKey', message: 'Invalid API-key provided.' }, 401));
  const response = await bench.post('/v1/images/generations', key, { model: 'wanx-v1', prompt: 'x' });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('Invalid API-key provided');
});
