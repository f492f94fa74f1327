/** Upstreams that answer in streams only serve plain clients, and upstreams that never stream serve streaming ones: translated, billed and logged as if they could do both. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { encoder, meaning, readStream } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, type Received, type Script, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
let gateway: TestGateway;
let practice: PracticeUpstream;
let upstream: Upstream;
let key: string;
let channels: number[] = [];

beforeAll(async () => {
  practice = startPracticeUpstream({ port: 0 });
  upstream = await startUpstream(() => undefined);
  gateway = await createTestGateway();
  await gateway.option('ModelRatio', JSON.stringify({ ...Object.fromEntries(dialects.map((id) => [id, 1])), one: 1 }));
  key = (await gateway.token()).key;
});
beforeEach(async () => {
  for (const id of channels) await gateway.services.channels.remove(id);
  channels = [];
  upstream.requests.length = 0;
});
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
  await practice.stop();
});

const open = async (models: string, setting: object, more: object = {}): Promise<void> => {
  channels.push(await gateway.channel(upstream.url, { type: 199, models, setting: JSON.stringify(setting), ...more }));
};

const streamsIn = ({ path, body }: Pick<Received, 'path' | 'body'>): boolean => {
  if (path.includes('GenerateContent') || path.includes('generateContent')) return path.includes('streamGenerate');
  const { stream } = JSON.parse(String(body));
  return stream ?? path.includes('/api/chat');
};

/** Answers as the practice upstream does, and refuses what the mode has not. */
const only =
  (mode: 'always' | 'never'): Script =>
  async (response, received) => {
    if (streamsIn(received) !== (mode === 'always')) {
      const message = `Unsupported value: 'stream' does not support ${mode === 'never'} with this model.`;
      return sendJson(response, { error: { message, code: 'unsupported_value', param: 'stream' } }, 400);
    }
    const answer = await fetch(practice.url + received.path, { method: 'POST', body: new Uint8Array(received.body) });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  };

const messages = [{ role: 'user', content: 'hi' }];
const requests: Readonly<Record<ProtocolId, (model: string, stream: boolean) => { path: string; body: object }>> = {
  'openai-chat': (model, stream) => ({ path: '/v1/chat/completions', body: { model, stream, messages } }),
  'openai-responses': (model, stream) => ({ path: '/v1/responses', body: { model, stream, input: 'hi' } }),
  'anthropic-messages': (model, stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 100, messages },
  }),
  'gemini-generate': (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  }),
  'ollama-chat': (model, stream) => ({ path: '/api/chat', body: { model, stream, messages } }),
  'cohere-chat': (model, stream) => ({ path: '/v2/chat', body: { model, stream, messages } }),
};
const eventsOf = (client: ProtocolId, stream: boolean, text: string) =>
  stream ? readStream(codecs[client], encoder.encode(text)) : codecs[client].upstream.decodeResponse(JSON.parse(text));
const row = async () => {
  await expect.poll(() => gateway.relay.open(), { interval: 2 }).toBe(0);
  return gateway.lastLog();
};
const droppedIn = (log: Awaited<ReturnType<typeof row>>): string[] => JSON.parse(log?.other ?? '{}').dropped ?? [];
const onePiece = '/stream: the upstream answers in one piece';

/** Each client with an upstream of its own dialect, and with one of another. */
const pairs = dialects.flatMap((client, at) =>
  [client, dialects[(at + 1) % dialects.length] ?? client].map((dialect) => [client, dialect] as const),
);
test.each(pairs)('%s client, %s upstream: the other kind of answer', async (client, dialect) => {
  for (const mode of ['always', 'never'] as const) {
    const stream = mode === 'never';
    upstream.script(only(mode));
    await open(dialect, { dialect, upstream_streams: mode });
    const { path, body } = requests[client](dialect, stream);
    const response = await gateway.send(key, path, body);
    const text = await response.text();
    expect([mode, response.status, text.slice(0, 200)]).toEqual([mode, 200, expect.anything()]);
    expect(response.headers.get('content-type')).toMatch(
      stream ? (client === 'ollama-chat' ? /ndjson/ : /event-stream/) : /^application\/json/,
    );
    expect(meaning(eventsOf(client, stream, text))).toMatchObject({
      text: expect.stringMatching(/^(practice ?){8}$/),
      finish: 'stop',
    });
    const log = await row();
    expect(log).toMatchObject({
      is_stream: stream,
      usage_source: 'reported',
      end_reason: 'completed',
      completion_tokens: 8,
    });
    expect(droppedIn(log).includes(onePiece)).toBe(stream);
    await gateway.services.channels.remove(channels.pop() ?? 0);
    await gateway.sync();
  }
});

const chat = (stream: boolean, more: object = {}) => gateway.chat(key, { model: 'one', stream, messages, ...more }, {});
const sent = () => upstream.requests.map(({ body }) => JSON.parse(String(body)));
const frames = (response: ServerResponse, ...events: readonly object[]) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
};
const delta = (content: string, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});

test('only the members about streams change, and the rest keeps its bytes', async () => {
  upstream.script((response) => sendJson(response, completion(3, 2)));
  await open('one', { upstream_streams: 'never' });
  const body = '{"model":"one", "stream":true,"stream_options":{"include_usage":true}, "seed":12345678901234567890}';
  const text = body.replace('{', '{"messages":[{"role":"user","content":"hi"}],');
  const answer = await (await gateway.send(key, '/v1/chat/completions', text)).text();
  expect(String(upstream.requests[0]?.body)).toBe(
    text.replace('"stream":true', '"stream":false').replace(',"stream_options":{"include_usage":true}', ''),
  );
  expect(answer).toContain('"usage":{"prompt_tokens":3');
  expect(answer).toContain('data: [DONE]');
});

test('a stream that nobody asked for is asked for its usage', async () => {
  upstream.script((response) => {
    frames(response, delta('hel'), delta('lo', 'stop'), {
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    response.end('data: [DONE]\n\n');
  });
  await open('one', { upstream_streams: 'always' });
  expect(await (await chat(false)).json()).toMatchObject({
    choices: [{ message: { content: 'hello' } }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  });
  expect(sent()).toEqual([{ model: 'one', stream: true, messages, stream_options: { include_usage: true } }]);
});

test.each([true, false])('one of several answers is bought, and the log says so (stream: %s)', async (stream) => {
  upstream.script(only(stream ? 'never' : 'always'));
  await open('one', { upstream_streams: stream ? 'never' : 'always' });
  await (await chat(stream, { n: 3 })).text();
  expect(sent()[0].n).toBeUndefined();
  expect(droppedIn(await row())).toContain('/n: one answer only');
  upstream.requests.length = 0;
  const { path, body } = requests['gemini-generate']('one', stream);
  await open('one', { upstream_streams: stream ? 'never' : 'always', dialect: 'gemini-generate' }, { priority: 9 });
  const config = { candidateCount: 2, topK: 4 };
  await (await gateway.send(key, path, { ...body, generationConfig: config })).text();
  expect(sent()[0].generationConfig).toEqual({ topK: 4 });
  expect(droppedIn(await row())).toContain('/n: one answer only');
});

/** A gateway on a clock of its own. */
async function waiting(run: (later: TestGateway, time: VirtualTime, ask: () => Promise<Response>) => Promise<void>) {
  const time = new VirtualTime();
  const later = await createTestGateway({ relay: { timers: time } });
  try {
    await later.option('ModelRatio', '{"one":1}');
    await later.channel(upstream.url, { type: 199, models: 'one', setting: '{"upstream_streams":"never"}' });
    const own = (await later.token()).key;
    await run(later, time, () => later.chat(own, { model: 'one', stream: true, messages }));
    expect(await later.verify()).toEqual([]);
  } finally {
    await later.close();
  }
}

test('while the answer in one piece is made, its client gets signs of life, and then all of it', () =>
  waiting(async (later, time, ask) => {
    const taken = Promise.withResolvers<ServerResponse>();
    upstream.script((response) => taken.resolve(response));
    const requested = ask();
    const response = await taken.promise;
    await time.advance(15_100);
    const client = await requested;
    let text = '';
    const over = (async () => {
      for await (const chunk of client.body ?? []) text += new TextDecoder().decode(chunk);
    })();
    await expect.poll(() => text, { interval: 2 }).toBe(': PING\n\n');
    await time.advance(15_100);
    await expect.poll(() => text, { interval: 2 }).toBe(': PING\n\n: PING\n\n');
    sendJson(response, completion(3, 2));
    await over;
    expect(text).toContain('hello world');
    expect(await later.lastLog()).toMatchObject({
      prompt_tokens: 3,
      completion_tokens: 2,
      end_reason: 'completed',
    });
  }));

test('an error before the first sign of life has its status, one behind it is part of the stream', () =>
  waiting(async (later, time, ask) => {
    const refused = { error: { message: 'too long' } };
    upstream.script((response) => sendJson(response, refused, 413));
    expect((await ask()).status).toBe(413);
    const taken = Promise.withResolvers<ServerResponse>();
    upstream.script((response) => taken.resolve(response));
    const requested = ask();
    const response = await taken.promise;
    await time.advance(15_100);
    const client = await requested;
    expect(client.status).toBe(200);
    sendJson(response, refused, 413);
    expect(await client.text()).toContain('too long');
    expect(await later.lastLog()).toMatchObject({ quota: 0 });
  }));

test.each(['never', 'always'] as const)(
  'a failed request goes to the next channel, of whichever kind (%s)',
  async (mode) => {
    const answered: boolean[] = [];
    upstream.script((response, received) => {
      const streams = streamsIn(received);
      answered.push(streams);
      if (answered.length === 1) return sendJson(response, { error: { message: 'no' } }, 503);
      if (!streams) return sendJson(response, completion(3, 2));
      frames(response, delta('hello world', 'stop'));
      response.end('data: [DONE]\n\n');
    });
    await open('one', { upstream_streams: mode }, { priority: 9 });
    await open('one', {});
    const stream = mode === 'never';
    const response = await chat(stream);
    expect(await response.text()).toContain('hello world');
    expect(answered).toEqual([!stream, stream]);
    expect(droppedIn(await row())).toEqual([]);
  },
);

test('a body that passes as it is asks for what its client asks for', async () => {
  upstream.script((response) => sendJson(response, completion(3, 2)));
  await open('one', { upstream_streams: 'never', pass_through: true });
  await (await chat(true)).text();
  expect(sent()[0].stream).toBe(true);
});

test('models of which it is known are served without a setting', async () => {
  upstream.script((response) =>
    sendJson(response, {
      ...{ id: 'r', object: 'response', created_at: 1, status: 'completed', model: 'o1-pro' },
      output: [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yes', annotations: [] }] },
      ],
      usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
    }),
  );
  await gateway.option('SelfUseModeEnabled', 'true');
  await open('o1-pro', {}, { type: 1 });
  for (const [path, body] of [
    ['/v1/responses', { input: 'hi' }],
    ['/v1/messages', { messages, max_tokens: 9 }],
    ['/v1/chat/completions', { messages }],
  ] as const) {
    const response = await gateway.send(key, path, { model: 'o1-pro', stream: true, ...body });
    expect(response.headers.get('content-type')).toContain('event-stream');
    expect(await response.text()).toContain('yes');
  }
  expect(sent().map(({ stream }) => stream ?? false)).toEqual([false, false, false]);
  await gateway.services.channels.remove(channels.pop() ?? 0);
  await open('o1-pro', { upstream_streams: 'always' }, { type: 1 });
  await (await gateway.send(key, '/v1/responses', { model: 'o1-pro', input: 'hi' })).text();
  expect(sent().at(-1).stream).toBe(true);
});
