/** Usage wherever an upstream reports it: before the words, behind the end, behind an error, in quotes; and answers that say nothing and cost something. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  ({ key } = await gateway.token());
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const model = 'gpt-4o-mini';
const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const named = (type: string, body: Record<string, unknown>) => `event: ${type}\n${data({ type, ...body })}`;
const chunk = (delta: unknown, finish: string | null = null, more: object = {}) =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more });

type Upstreams = 'openai-chat' | 'gemini-generate' | 'anthropic-messages' | 'openai-responses';
const channels: Readonly<Record<Upstreams, Record<string, unknown>>> = {
  'openai-chat': { setting: '{"dialect":"openai-chat"}' },
  'gemini-generate': { type: 24 },
  'anthropic-messages': { type: 14 },
  'openai-responses': { setting: '{"dialect":"openai-responses"}' },
};
const requests: Readonly<Record<Upstreams, (stream: boolean) => readonly [path: string, body: object]>> = {
  'openai-chat': (stream) => [
    '/v1/chat/completions',
    { model, stream, messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } },
  ],
  'gemini-generate': (stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'anthropic-messages': (stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 1000, messages: [{ role: 'user', content: 'hi' }] },
  ],
  'openai-responses': (stream) => ['/v1/responses', { model, stream, input: 'hi' }],
};
const clients = Object.keys(requests) as Upstreams[];

async function ask(client: Upstreams, stream = true) {
  const [path, body] = requests[client](stream);
  const request = new Request(`http://gateway.example${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      text += decoder.decode(read.value, { stream: true });
  } catch {
    // Some dialects break the connection off behind an error.
  }
  await expect.poll(() => gateway.relay.open(), { timeout: 8000 }).toBe(0);
  return { status: response.status, text, log: (await gateway.logs())[0] };
}

/** Each piece comes on its own. */
const streams = (...chunks: readonly string[]) =>
  upstream.script(async (answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of chunks) {
      answer.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    answer.end();
  });

const chatUsage = (prompt: unknown, output: unknown) =>
  data({ id: 'c', choices: [], usage: { prompt_tokens: prompt, completion_tokens: output, total_tokens: 150 } });
const words = (count: number) => Array.from({ length: count }, () => 'word ').join('');
const done = 'data: [DONE]\n\n';
const geminiText = (text: string, more: object = {}) =>
  data({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }], ...more });
const geminiUsage = { usageMetadata: { promptTokenCount: 120, candidatesTokenCount: 30, totalTokenCount: 150 } };
const geminiEnd = data({ candidates: [{ index: 0, finishReason: 'STOP' }] });

test.each(clients)('%s client: a usage before the words and none behind them is not the whole bill', async (client) => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  const first = chunk({ role: 'assistant', content: '' });
  streams(
    first,
    chatUsage(1, 1),
    chunk({ content: words(500) }),
    chunk({ content: words(500) }),
    chunk({}, 'stop'),
    done,
  );
  expect((await ask(client)).log).toMatchObject({ prompt_tokens: 1, completion_tokens: 1000, usage_source: 'partial' });
});

test.each(['gemini-generate', 'openai-chat'] as const)(
  '%s client of Gemini: usage that is reported only before the words does not settle the bill',
  async (client) => {
    await gateway.channel(upstream.url, channels['gemini-generate']);
    streams(geminiText('one ', geminiUsage), geminiText(words(500)), geminiEnd);
    expect((await ask(client)).log).toMatchObject({
      prompt_tokens: 120,
      completion_tokens: 501,
      usage_source: 'partial',
    });
  },
);

test('the usage that Anthropic’s start reports is not the whole bill where the end reports nothing', async () => {
  await gateway.channel(upstream.url, channels['anthropic-messages']);
  const message = { id: 'm', role: 'assistant', model, content: [], usage: { input_tokens: 120, output_tokens: 1 } };
  streams(
    named('message_start', { message }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words(500) } }),
    named('content_block_stop', { index: 0 }),
    named('message_delta', { delta: { stop_reason: 'end_turn' } }),
    named('message_stop', {}),
  );
  for (const client of ['anthropic-messages', 'openai-chat'] as const)
    expect((await ask(client)).log).toMatchObject({ prompt_tokens: 120, completion_tokens: 500 });
});

test('a usage that grows with every piece is the bill, whatever is counted here', async () => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  const growing = (output: number) => ({ usage: { prompt_tokens: 120, completion_tokens: output, total_tokens: 150 } });
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.end(
      chunk({ content: words(50) }, null, growing(10)) +
        chunk({ content: words(50) }, null, growing(30)) +
        chunk({}, 'stop') +
        done,
    );
  });
  for (const client of clients)
    expect((await ask(client)).log).toMatchObject({ completion_tokens: 30, usage_source: 'reported' });
});

test.each(clients)('%s client: usage behind [DONE] is read', async (client) => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  const chunks = [chunk({ content: 'one two ' }), chunk({}, 'stop'), done, chatUsage(120, 30)];
  streams(...chunks);
  const apart = await ask(client);
  expect(apart.log).toMatchObject({ prompt_tokens: 120, completion_tokens: 30, usage_source: 'reported' });
  streams(chunks.join(''));
  const together = await ask(client);
  expect(together.log).toMatchObject({ prompt_tokens: 120, completion_tokens: 30, usage_source: 'reported' });
});

test.each(['openai-chat', 'gemini-generate'] as const)(
  'a stream that is gathered for a %s client is read behind [DONE] as well',
  async (client) => {
    await gateway.channel(upstream.url, channels['openai-chat']);
    streams(chunk({ content: 'one two ' }), chunk({}, 'stop'), done, chatUsage(120, 30));
    expect((await ask(client, false)).log).toMatchObject({ prompt_tokens: 120, completion_tokens: 30 });
  },
);

test.each(clients)('%s client: a usage alone behind Gemini’s end is read', async (client) => {
  await gateway.channel(upstream.url, channels['gemini-generate']);
  streams(geminiText('one two '), geminiEnd, data(geminiUsage));
  expect((await ask(client)).log).toMatchObject({
    prompt_tokens: 120,
    completion_tokens: 30,
    usage_source: 'reported',
  });
});

const chatError = data({ id: 'c', choices: [], error: { code: 502, message: 'Token limit reached' } });

test.each(clients)('%s client: usage behind an error in the stream is read', async (client) => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  streams(chunk({ content: 'one two ' }), chatError, chatUsage(120, 30), done);
  expect((await ask(client)).log).toMatchObject({
    prompt_tokens: 120,
    completion_tokens: 30,
    usage_source: 'reported',
    end_reason: 'upstream_broken',
  });
  streams(chunk({ content: 'one two ' }), chatError + chatUsage(120, 30) + done);
  expect((await ask(client)).log).toMatchObject({ completion_tokens: 30, usage_source: 'reported' });
});

test('usage behind an error is read from Gemini, Anthropic and Responses too', async () => {
  await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(clients.map((name) => [`m-${name}`, 1]))));
  const bodies: Partial<Record<Upstreams, readonly string[]>> = {
    'gemini-generate': [geminiText('one two '), data({ error: { code: 500, message: 'broken' } }), data(geminiUsage)],
    'anthropic-messages': [
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'one two ' } }),
      named('error', { error: { type: 'api_error', message: 'broken' } }),
      named('message_delta', { delta: {}, usage: { input_tokens: 120, output_tokens: 30 } }),
    ],
    'openai-responses': [
      named('response.output_text.delta', { output_index: 0, content_index: 0, delta: 'one two ' }),
      named('error', { code: 'server_error', message: 'broken' }),
      named('response.failed', { response: { id: 'r', usage: { input_tokens: 120, output_tokens: 30 } } }),
    ],
  };
  for (const spoken of Object.keys(bodies) as Upstreams[]) {
    await gateway.channel(upstream.url, { ...channels[spoken], models: `m-${spoken}` });
    streams(...(bodies[spoken] ?? []));
    const answer = await gateway.chat(key, {
      model: `m-${spoken}`,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
    });
    await answer.text();
    await expect.poll(() => gateway.relay.open()).toBe(0);
    expect((await gateway.logs())[0], spoken).toMatchObject({ prompt_tokens: 120, completion_tokens: 30 });
  }
});

test('the end of a stream that reports nothing is not waited behind for long', async () => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    // The connection stays open.
    answer.write(chunk({ content: 'one two ' }) + done);
  });
  const { text, log } = await ask('openai-chat');
  expect(text).toContain('[DONE]');
  expect(log).toMatchObject({ completion_tokens: 2, usage_source: 'estimated', end_reason: 'completed' });
});

test.each(clients)('%s client: counts in quotes are numbers, whole and streamed', async (client) => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  streams(chunk({ content: 'one two ' }), chunk({}, 'stop'), chatUsage('120', '30'), done);
  const { log, text } = await ask(client);
  expect(log).toMatchObject({ prompt_tokens: 120, completion_tokens: 30, usage_source: 'reported' });
  expect(text).toContain('120');
  const choices = [{ index: 0, message: { role: 'assistant', content: 'one two' }, finish_reason: 'stop' }];
  upstream.script((answer) =>
    sendJson(answer, { id: 'c', choices, usage: { prompt_tokens: '120', completion_tokens: '30' } }),
  );
  expect((await ask(client, false)).log).toMatchObject({ prompt_tokens: 120, completion_tokens: 30 });
});

const empty: Readonly<Record<Upstreams, { readonly whole: unknown; readonly stream: readonly string[] }>> = {
  'openai-chat': {
    whole: {
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100_000, completion_tokens: 0, total_tokens: 100_000 },
    },
    stream: [chunk({ role: 'assistant', content: '' }), chunk({}, 'stop'), chatUsage(100_000, 0), done],
  },
  'gemini-generate': {
    whole: {
      candidates: [{ index: 0, content: { role: 'model' }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100_000, totalTokenCount: 100_000 },
    },
    stream: [
      data({
        candidates: [{ index: 0, content: { role: 'model' }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 100_000, totalTokenCount: 100_000 },
      }),
    ],
  },
  'anthropic-messages': {
    whole: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: 'end_turn',
      usage: { input_tokens: 100_000, output_tokens: 0 },
    },
    stream: [
      named('message_start', { message: { id: 'm', content: [], usage: { input_tokens: 100_000, output_tokens: 0 } } }),
      named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 0 } }),
      named('message_stop', {}),
    ],
  },
  'openai-responses': {
    whole: {
      id: 'r',
      object: 'response',
      status: 'completed',
      output: [],
      usage: { input_tokens: 100_000, output_tokens: 0, total_tokens: 100_000 },
    },
    stream: [
      named('response.completed', {
        response: {
          id: 'r',
          object: 'response',
          status: 'completed',
          output: [],
          usage: { input_tokens: 100_000, output_tokens: 0, total_tokens: 100_000 },
        },
      }),
    ],
  },
};

test.each(
  clients.flatMap((spoken) =>
    [spoken, spoken === 'openai-chat' ? ('gemini-generate' as const) : ('openai-chat' as const)].map(
      (client) => [spoken, client] as const,
    ),
  ),
)(
  'an upstream that speaks %s and answers with nothing: a %s client gets and pays the one answer',
  async (spoken, client) => {
    for (let count = 0; count < 3; count++) await gateway.channel(upstream.url, channels[spoken]);
    await gateway.option('RetryTimes', '3');
    for (const stream of [true, false]) {
      const before = upstream.requests.length;
      if (stream) streams(...empty[spoken].stream);
      else upstream.script((answer) => sendJson(answer, empty[spoken].whole));
      const { status, log } = await ask(client, stream);
      expect(upstream.requests.length - before).toBe(1);
      expect(status).toBe(200);
      expect(log).toMatchObject({ prompt_tokens: 100_000, completion_tokens: 0, usage_source: 'reported' });
    }
  },
);

test('an empty answer that reports nothing is asked for elsewhere', async () => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  await gateway.channel(upstream.url, channels['openai-chat']);
  let calls = 0;
  upstream.script((answer) => {
    calls++;
    const content = calls === 1 ? '' : 'hello';
    sendJson(answer, { id: 'c', choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] });
  });
  expect((await ask('openai-chat', false)).text).toContain('hello');
  expect(calls).toBe(2);
});
