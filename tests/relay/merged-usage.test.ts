/** An answer whose usage is stated in several frames costs what it costs when the last frame states all of it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

type Dialect = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini-generate';
const types: Readonly<Record<Dialect, object>> = {
  'openai-chat': { setting: '{"dialect":"openai-chat"}' },
  'openai-responses': { setting: '{"dialect":"openai-responses"}' },
  'anthropic-messages': { type: 14 },
  'gemini-generate': { type: 24 },
};
const dialects = Object.keys(types) as Dialect[];

beforeAll(async () => {
  gateway = await createTestGateway({ quota: 1_000_000_000 });
  upstream = await startUpstream(() => undefined);
  ({ key } = await gateway.token());
  const table = (value: number) => JSON.stringify(Object.fromEntries(dialects.map((name) => [`m-${name}`, value])));
  await gateway.option('ModelRatio', table(1));
  await gateway.option('CompletionRatio', table(4));
  await gateway.option('CacheRatio', table(0.25));
  for (const name of dialects) await gateway.channel(upstream.url, { ...types[name], models: `m-${name}` });
});
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const requests: Readonly<Record<Dialect, (model: string, stream: boolean) => readonly [path: string, body: object]>> = {
  'openai-chat': (model, stream) => [
    '/v1/chat/completions',
    { model, stream, messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } },
  ],
  'openai-responses': (model, stream) => ['/v1/responses', { model, stream, input: 'hi' }],
  'anthropic-messages': (model, stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 9000, messages: [{ role: 'user', content: 'hi' }] },
  ],
  'gemini-generate': (model, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
};

async function ask(client: Dialect, spoken: Dialect, stream = true) {
  const [path, body] = requests[client](`m-${spoken}`, stream);
  const response = await gateway.send(key, path, body);
  const text = await response.text();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  const log = (await gateway.logs())[0];
  return { text, log, other: JSON.parse(log?.other ?? '{}') };
}

/** Each frame comes on its own. */
const streams = (...frames: readonly string[]) =>
  upstream.script(async (answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of frames) {
      answer.write(frame);
      await new Promise((resolve) => setImmediate(resolve));
    }
    answer.end();
  });

const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const named = (type: string, body: object) => `event: ${type}\n${data({ type, ...body })}`;
const words = { content: 'one two three ' };
const chunk = (delta: object, finish: string | null, usage?: object) =>
  data({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }], ...(usage === undefined ? {} : { usage }) });
const usageChunk = (usage: object) => data({ id: 'c', choices: [], usage });
const done = 'data: [DONE]\n\n';

const anthropic = (start: object, ...ends: readonly (object | null)[]) => [
  named('message_start', { message: { id: 'm', role: 'assistant', content: [], usage: start } }),
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'one two three' } }),
  named('content_block_stop', { index: 0 }),
  ...ends.map((usage, at) =>
    named('message_delta', {
      delta: at === ends.length - 1 ? { stop_reason: 'end_turn' } : {},
      ...(usage === null ? {} : { usage }),
    }),
  ),
  named('message_stop', {}),
];

const gemini = (...usages: readonly (object | null)[]) =>
  usages.map((usage, at) =>
    data({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [{ text: 'one two three ' }] },
          ...(at === usages.length - 1 ? { finishReason: 'STOP' } : {}),
        },
      ],
      ...(usage === null ? {} : { usageMetadata: usage }),
    }),
  );

const response = (type: string, usage: object | null, more: object = {}) =>
  named(type, { response: { id: 'r', object: 'response', status: 'completed', output: [], usage, ...more } });
const responses = (created: object | null, completed: object) => [
  response('response.created', created, { status: 'in_progress' }),
  named('response.output_text.delta', { output_index: 0, content_index: 0, delta: 'one two three' }),
  response('response.completed', completed),
];

const quota = async (client: Dialect, spoken: Dialect) => {
  const { log } = await ask(client, spoken);
  expect(log).toMatchObject({ usage_source: 'reported', end_reason: 'completed' });
  return Number(log?.quota);
};

test.each(dialects)(
  '%s client: zeros at the end of an Anthropic stream erase neither the prompt nor its cached part',
  async (client) => {
    streams(
      ...anthropic(
        { input_tokens: 1000, cache_read_input_tokens: 500, output_tokens: 1 },
        { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 10 },
      ),
    );
    const { log, text, other } = await ask(client, 'anthropic-messages');
    expect([log?.quota, other.cache_tokens]).toEqual([1165, 500]);
    // The client reads the same, where the bytes are ours.
    if (client === 'openai-chat') expect(text).toContain('"prompt_tokens":1500');
  },
);

const cached = {
  prompt_tokens: 2048,
  completion_tokens: 10,
  total_tokens: 2058,
  prompt_tokens_details: { cached_tokens: 1792, audio_tokens: 0 },
};
const bare = { prompt_tokens: 2048, completion_tokens: 10, total_tokens: 2058 };
/** 256 fresh, 1,792 cached and 10 written tokens. */
const cachedQuota = 744;

test.each(dialects)(
  '%s client: a second usage of a chat stream without details loses no cached token',
  async (client) => {
    streams(chunk(words, null), chunk({}, 'stop'), usageChunk(cached), usageChunk(bare), done);
    const { log, other } = await ask(client, 'openai-chat');
    expect([log?.quota, log?.prompt_tokens, other.cache_tokens]).toEqual([cachedQuota, 2048, 1792]);
  },
);

test.each(dialects)('%s client: nor does one on the chunk that ends it', async (client) => {
  streams(chunk(words, null, cached), chunk({}, 'stop', bare), done);
  const { log, text } = await ask(client, 'openai-chat');
  expect(log?.quota).toBe(cachedQuota);
  if (client === 'anthropic-messages') expect(text).toContain('"cache_read_input_tokens":1792');
});

test.each(dialects)(
  '%s client: nor a usage in a chunk between the words, nor a total that comes first',
  async (client) => {
    streams(
      chunk(words, null),
      chunk(words, null, cached),
      chunk(words, null),
      chunk({}, 'stop'),
      usageChunk(bare),
      done,
    );
    expect(await quota(client, 'openai-chat')).toBe(cachedQuota);
    streams(chunk(words, null, bare), chunk(words, null), chunk({}, 'stop'), usageChunk(cached), done);
    expect(await quota(client, 'openai-chat')).toBe(cachedQuota);
  },
);

const geminiTotals = { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 };

test.each(dialects)('%s client: what the first frame of Gemini alone calls cached is cached', async (client) => {
  streams(...gemini({ ...geminiTotals, cachedContentTokenCount: 800 }, geminiTotals, geminiTotals));
  expect(await quota(client, 'gemini-generate')).toBe(200 + 200 + 40);
});

test.each(dialects)('%s client: thoughts that the first frame of Gemini alone counts are paid', async (client) => {
  streams(...gemini({ ...geminiTotals, thoughtsTokenCount: 70 }, geminiTotals, geminiTotals));
  expect(await quota(client, 'gemini-generate')).toBe(1000 + 40 + 280);
});

test.each(dialects)(
  '%s client: nor is anything lost that a frame in the middle of Gemini alone states',
  async (client) => {
    const { promptTokenCount: _, ...written } = geminiTotals;
    streams(
      ...gemini(
        written,
        null,
        { ...geminiTotals, thoughtsTokenCount: 70 },
        { cachedContentTokenCount: 800 },
        { toolUsePromptTokenCount: 30 },
        written,
      ),
    );
    expect(await quota(client, 'gemini-generate')).toBe(200 + 200 + 30 + 40 + 280);
  },
);

test.each(dialects)('%s client: the sources that a frame in the middle names are paid', async (client) => {
  const [first = '', middle = '', last = ''] = gemini(geminiTotals, geminiTotals, geminiTotals);
  const found = middle.replace('"index":0', '"index":0,"groundingMetadata":{"webSearchQueries":["a"]}');
  streams(first, first, found, last);
  const { other } = await ask(client, 'gemini-generate');
  expect(other.tools).toMatchObject({ google_search: { calls: 1 } });
});

test.each(dialects)('%s client: a usage that the Responses API states at its beginning is kept', async (client) => {
  streams(
    ...responses(
      { input_tokens: 2048, output_tokens: 0, input_tokens_details: { cached_tokens: 1792 } },
      { input_tokens: 2048, output_tokens: 10, input_tokens_details: { cached_tokens: 0 } },
    ),
  );
  expect(await quota(client, 'openai-responses')).toBe(cachedQuota);
});

test('a lower count at the end is a correction, and the row says so; one before the end is none', async () => {
  streams(chunk(words, null, { prompt_tokens: 5000, completion_tokens: 3 }), chunk({}, 'stop'), usageChunk(bare), done);
  const { log, other } = await ask('openai-chat', 'openai-chat');
  expect([log?.quota, other.usage_marks]).toEqual([2088, ['corrected']]);
  streams(
    ...anthropic(
      { input_tokens: 2048, output_tokens: 1 },
      { input_tokens: 256, cache_read_input_tokens: 1792, output_tokens: 10 },
    ),
  );
  const converted = await ask('anthropic-messages', 'anthropic-messages');
  expect([converted.log?.quota, converted.other.usage_marks]).toEqual([cachedQuota, ['corrected']]);
  streams(
    ...anthropic(
      { input_tokens: 2048, output_tokens: 1 },
      { input_tokens: 256, output_tokens: 5 },
      { output_tokens: 10 },
    ),
  );
  const running = await ask('anthropic-messages', 'anthropic-messages');
  expect([running.log?.quota, running.other.usage_marks]).toEqual([2088, undefined]);
});

test.each(dialects)(
  '%s client: a message that begins twice is charged with what both beginnings state',
  async (client) => {
    const [start = '', ...rest] = anthropic({ input_tokens: 1000, output_tokens: 1 }, { output_tokens: 10 });
    const [again = ''] = anthropic({ input_tokens: 0, cache_read_input_tokens: 500, output_tokens: 1 }, null);
    streams(start, again, ...rest);
    expect(await quota(client, 'anthropic-messages')).toBe(1165);
  },
);

test('a later split of what was written to the cache counts where it is complete', async () => {
  const write = (fiveMinutes: number, oneHour: number) => ({
    cache_creation_input_tokens: fiveMinutes + oneHour,
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
  });
  streams(
    ...anthropic({ input_tokens: 10, output_tokens: 1, ...write(100, 0) }, { output_tokens: 10, ...write(0, 100) }),
  );
  const { other } = await ask('anthropic-messages', 'anthropic-messages');
  expect([other.cache_creation_tokens, other.cache_write_1h]).toEqual([100, 100]);
});

test('where one count has two spellings, the one above zero is read', async () => {
  upstream.script((answer) =>
    sendJson(answer, {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 0,
        input_tokens: 2048,
        completion_tokens: 10,
        output_tokens: 0,
        prompt_tokens_details: { cached_tokens: 0 },
        input_tokens_details: { cached_tokens: 1792 },
      },
    }),
  );
  expect((await ask('openai-chat', 'openai-chat', false)).log?.quota).toBe(cachedQuota);
});

test('the places of a usage in a whole answer are read together', async () => {
  upstream.script((answer) =>
    sendJson(answer, {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop', usage: cached }],
      x_groq: { usage: { prompt_tokens: 0, completion_tokens: 0 } },
      usage: bare,
    }),
  );
  for (const client of ['openai-chat', 'gemini-generate'] as const)
    expect((await ask(client, 'openai-chat', false)).log?.quota).toBe(cachedQuota);
});

const whole = (client: Dialect, prompt: number, output: number, more: object = {}) => {
  upstream.script((answer) =>
    sendJson(answer, {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: prompt, completion_tokens: output, ...more },
    }),
  );
  return ask(client, 'openai-chat', false);
};

test('a usage beyond what its answer can hold is charged as reported, and the row says so', async () => {
  const usual = await whole('openai-chat', 20, 4);
  expect([usual.log?.quota, usual.other.usage_marks]).toEqual([36, undefined]);
  // The model is unknown: 32,768 tokens at most.
  const long = await whole('openai-chat', 20, 40_000, { completion_tokens_details: { reasoning_tokens: 39_990 } });
  expect([long.log?.quota, long.other.usage_marks]).toEqual([160_020, ['above_limit']]);
  const loud = await whole('openai-chat', 20, 5_000);
  expect([loud.log?.quota, loud.other.usage_marks]).toEqual([20_020, ['above_delivered']]);
  const wide = await whole('openai-chat', 100_000, 4);
  expect([wide.log?.quota, wide.other.usage_marks]).toEqual([100_016, ['above_sent']]);
  const all = await whole('openai-chat', 100_000, 40_000);
  expect(all.other.usage_marks).toEqual(['above_limit', 'above_delivered', 'above_sent']);
  // What the provider searched for was read besides.
  const searched = await whole('openai-chat', 100_000, 40_000, { server_tool_use: { web_search_requests: 1 } });
  expect(searched.other.usage_marks).toBeUndefined();
  streams(chunk(words, null), chunk({}, 'stop'), usageChunk({ prompt_tokens: 20, completion_tokens: 5000 }), done);
  for (const client of dialects)
    expect((await ask(client, 'openai-chat')).other.usage_marks).toEqual(['above_delivered']);
});
