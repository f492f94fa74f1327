/** An answer with several choices: each is counted where the upstream reports no usage, and each is searched for words that must not be delivered. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HttpServer } from '../../server/http/http-server.ts';
import { openRelayDoor } from '../support/door.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let door: HttpServer;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway({ limits: { billMs: 200 } });
  upstream = await startUpstream(() => undefined);
  key = (await gateway.token()).key;
  door = openRelayDoor(gateway.relay);
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await door.stop(100);
  await gateway.close();
  await upstream.stop();
});

const model = 'gpt-4o-mini';
const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const words = (count: number, word: string) => Array.from({ length: count }, () => `${word} `).join('');

interface Dialect {
  /** How a channel is made whose upstream speaks it. */
  readonly channel: Record<string, unknown>;
  ask(stream: boolean): { readonly path: string; readonly body: Record<string, unknown> };
  /** A frame with a piece of one choice. */
  chunk(choice: number, text: string): string;
  end(choice: number): string;
  readonly terminal: string;
  whole(texts: readonly string[]): unknown;
}

const chatChunk = (choice: number, delta: unknown, finish: string | null = null) =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: choice, delta, finish_reason: finish }] });

const dialects: Readonly<Record<'chat' | 'completions' | 'gemini', Dialect>> = {
  chat: {
    channel: { setting: '{"dialect":"openai-chat"}' },
    ask: (stream) => ({
      path: '/v1/chat/completions',
      body: { model, stream, n: 3, messages: [{ role: 'user', content: 'hi' }] },
    }),
    chunk: (choice, content) => chatChunk(choice, { content }),
    end: (choice) => chatChunk(choice, {}, 'stop'),
    terminal: 'data: [DONE]\n\n',
    whole: (texts) => ({
      id: 'c',
      choices: texts.map((content, index) => ({
        index,
        message: { role: 'assistant', content },
        finish_reason: 'stop',
      })),
    }),
  },
  completions: {
    channel: {},
    ask: (stream) => ({ path: '/v1/completions', body: { model, stream, n: 3, prompt: 'hi' } }),
    chunk: (index, text) => data({ id: 'c', choices: [{ index, text, finish_reason: null }] }),
    end: (index) => data({ id: 'c', choices: [{ index, text: '', finish_reason: 'stop' }] }),
    terminal: 'data: [DONE]\n\n',
    whole: (texts) => ({ id: 'c', choices: texts.map((text, index) => ({ index, text, finish_reason: 'stop' })) }),
  },
  gemini: {
    channel: { type: 24 },
    ask: (stream) => ({
      path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { candidateCount: 3 } },
    }),
    chunk: (index, text) => data({ candidates: [{ index, content: { role: 'model', parts: [{ text }] } }] }),
    end: (index) => data({ candidates: [{ index, finishReason: 'STOP' }] }),
    terminal: '',
    whole: (texts) => ({
      candidates: texts.map((text, index) => ({
        index,
        content: { role: 'model', parts: [{ text }] },
        finishReason: 'STOP',
      })),
    }),
  },
};
const names = Object.keys(dialects) as (keyof typeof dialects)[];

function post({ path, body }: { readonly path: string; readonly body: unknown }) {
  const leave = new AbortController();
  const requested = fetch(`http://127.0.0.1:${door.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', 'accept-language': 'en' },
    body: JSON.stringify(body),
    signal: leave.signal,
  });
  return { requested, leave: () => leave.abort() };
}

function reading(answer: Response) {
  let text = '';
  const reader = answer.body?.pipeThrough(new TextDecoderStream() as never).getReader() as
    | ReadableStreamDefaultReader<string>
    | undefined;
  const over = (async () => {
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) return;
      text += part.value;
    }
  })().catch(() => undefined);
  return { text: () => text, over };
}

/** The upstream's side of one stream, played by hand. */
function playing() {
  const { promise, resolve } = Promise.withResolvers<{ write(text: string): unknown; end(): unknown }>();
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.flushHeaders();
    resolve(answer);
  });
  return promise;
}

const lastLog = async () => {
  await expect.poll(() => gateway.relay.open(), { timeout: 8000 }).toBe(0);
  return (await gateway.logs())[0];
};

test.each(names)('%s: every choice of a whole answer without usage is counted', async (name) => {
  const dialect = dialects[name];
  await gateway.channel(upstream.url, dialect.channel);
  upstream.script((answer) => sendJson(answer, dialect.whole([words(10, 'a'), words(20, 'b'), words(30, 'c')])));
  expect((await post(dialect.ask(false)).requested).status).toBe(200);
  expect(await lastLog()).toMatchObject({ completion_tokens: 60, usage_source: 'estimated' });
});

test.each(names)('%s: every choice of a stream without usage is counted', async (name) => {
  const dialect = dialects[name];
  await gateway.channel(upstream.url, dialect.channel);
  const stream = playing();
  const { requested } = post(dialect.ask(true));
  const up = await stream;
  for (let round = 0; round < 5; round++)
    for (const choice of [1, 2, 0]) up.write(dialect.chunk(choice, words(4, 'word')));
  for (const choice of [0, 1, 2]) up.write(dialect.end(choice));
  up.write(dialect.terminal);
  up.end();
  await (await requested).text();
  expect(await lastLog()).toMatchObject({ completion_tokens: 60, usage_source: 'estimated', end_reason: 'completed' });
});

test.each(names)('%s: every choice is counted for a client that leaves before the end', async (name) => {
  const dialect = dialects[name];
  await gateway.channel(upstream.url, dialect.channel);
  const stream = playing();
  const { requested, leave } = post(dialect.ask(true));
  const up = await stream;
  for (const choice of [0, 1, 2]) up.write(dialect.chunk(choice, words(100, `w${choice}`)));
  const { text } = reading(await requested);
  await expect.poll(text).toContain('w2');
  leave();
  expect(await lastLog()).toMatchObject({ completion_tokens: 300, end_reason: 'client_gone' });
});

test('a translated answer counts the choices that its dialect has no place for, and delivers the first alone', async () => {
  await gateway.channel(upstream.url, dialects.gemini.channel);
  const stream = playing();
  const { requested } = post(dialects.chat.ask(true));
  const up = await stream;
  // Gemini sends one candidate a frame.
  for (const choice of [1, 0, 2]) up.write(dialects.gemini.chunk(choice, words(10, `w${choice}`)));
  for (const choice of [0, 1, 2]) up.write(dialects.gemini.end(choice));
  up.end();
  const text = await (await requested).text();
  expect(text).toContain('w0');
  expect(text).not.toContain('w1');
  expect(await lastLog()).toMatchObject({ completion_tokens: 30, usage_source: 'estimated' });
});

test('a translated whole answer counts every choice', async () => {
  await gateway.channel(upstream.url, dialects.chat.channel);
  upstream.script((answer) => sendJson(answer, dialects.chat.whole([words(10, 'a'), words(20, 'b')])));
  const { requested } = post(dialects.gemini.ask(false));
  expect(await (await requested).text()).not.toContain('b b');
  expect(await lastLog()).toMatchObject({ completion_tokens: 30, usage_source: 'estimated' });
});

test('thoughts, refusals, calls with their names, and transcripts of every choice are counted', async () => {
  await gateway.channel(upstream.url, dialects.chat.channel);
  const stream = playing();
  const { requested, leave } = post(dialects.chat.ask(true));
  const up = await stream;
  for (const choice of [0, 1]) {
    up.write(chatChunk(choice, { reasoning_content: 'one two ' }));
    up.write(chatChunk(choice, { refusal: 'three ' }));
    up.write(chatChunk(choice, { audio: { id: 'a', transcript: 'four five ' } }));
    const called = { name: 'six ', arguments: '{"a": "seven eight"}' };
    up.write(chatChunk(choice, { tool_calls: [{ index: 0, id: `call_${choice}`, function: called }] }));
  }
  up.write(chatChunk(0, { content: ' last' }));
  const { text } = reading(await requested);
  await expect.poll(text).toContain('last');
  leave();
  // Eight words and the member of the arguments, twice, and the last.
  expect(await lastLog()).toMatchObject({ completion_tokens: 19, end_reason: 'client_gone' });
});

test.each([
  ['best_of', { best_of: 5 }, 50],
  ['best_of with n', { best_of: 4, n: 2 }, 20],
  ['n alone', { n: 2 }, 10],
])('completions that are not returned are charged as well: %s', async (_name, more, expected) => {
  await gateway.channel(upstream.url);
  upstream.script((answer) => sendJson(answer, dialects.completions.whole([words(10, 'a')])));
  expect((await post({ path: '/v1/completions', body: { model, prompt: 'hi', ...more } }).requested).status).toBe(200);
  expect(await lastLog()).toMatchObject({ completion_tokens: expected, usage_source: 'estimated' });
});

test('a stream whose further choices outgrow the balance is cut', async () => {
  await gateway.close();
  await door.stop(100);
  gateway = await createTestGateway({ quota: 50_000 });
  await gateway.option('ModelRatio', '{"some-model":1}');
  key = (await gateway.token()).key;
  door = openRelayDoor(gateway.relay);
  await gateway.channel(upstream.url, { models: 'some-model' });
  const stream = playing();
  const { path, body } = dialects.chat.ask(true);
  const { requested } = post({ path, body: { ...body, model: 'some-model' } });
  const up = await stream;
  up.write(dialects.chat.chunk(0, 'x '));
  const { over } = reading(await requested);
  for (let round = 0; round < 40; round++) up.write(dialects.chat.chunk(1 + (round % 2), words(10_000, 'ab')));
  up.end();
  await over;
  expect(await lastLog()).toMatchObject({ end_reason: 'quota_cut' });
});

test.each(names)(
  '%s: a blocked word in any choice ends the stream, also in pieces between those of another',
  async (name) => {
    const dialect = dialects[name];
    await gateway.option('SensitiveWords', 'forbidden');
    await gateway.option('StopOnSensitiveEnabled', 'true');
    await gateway.channel(upstream.url, dialect.channel);
    const stream = playing();
    const { requested } = post(dialect.ask(true));
    const up = await stream;
    up.write(dialect.chunk(0, 'all is well, '));
    const answer = await requested;
    const { text, over } = reading(answer);
    up.write(dialect.chunk(2, 'a forb'));
    up.write(dialect.chunk(0, 'idd is no word '));
    up.write(dialect.chunk(1, 'and so '));
    up.write(dialect.chunk(2, 'idden fruit'));
    up.write(dialect.chunk(0, 'behind it'));
    up.end();
    await over;
    expect(text()).toContain('idd is no word');
    expect(text()).not.toContain('idden fruit');
    expect(text()).not.toContain('behind it');
    expect(await lastLog()).toMatchObject({ end_reason: 'word_cut' });
  },
);

test('pieces of different choices make no word together', async () => {
  await gateway.option('SensitiveWords', 'forbidden');
  await gateway.option('StopOnSensitiveEnabled', 'true');
  const dialect = dialects.chat;
  await gateway.channel(upstream.url, dialect.channel);
  const stream = playing();
  const { requested } = post(dialect.ask(true));
  const up = await stream;
  up.write(dialect.chunk(0, 'a forb') + dialect.chunk(1, 'idden road') + dialect.end(0) + dialect.end(1));
  up.write(dialect.terminal);
  up.end();
  expect(await (await requested).text()).toContain('idden road');
  expect(await lastLog()).toMatchObject({ end_reason: 'completed' });
});
