/** Disconnects, their time and their cost: every dialect, passed through and translated, at every point of a stream; and responses in one piece. */
import { connect } from 'node:net';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { openRelayDoor } from '../support/door.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { sendJson } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** How long a bill is waited for. */
const billMs = 2000;
const time = new VirtualTime();
/** How often the relay has gone on with a request: at its beginning, with its body, at the upstream's headers, and with every piece of an open stream. */
let steps = 0;
const { gateway, upstream, key, row } = await sharedGateway({
  limits: { billMs },
  relay: { timers: time, works: () => void steps++ },
});
const door = openRelayDoor(gateway.relay);

beforeEach(() => {
  steps = 0;
});
afterAll(() => door.stop(100));

type Dialect = 'openai-chat' | 'anthropic-messages' | 'gemini-generate' | 'openai-responses';
const model = 'gpt-4o-mini';
const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const named = (type: string, body: Record<string, unknown>) => `event: ${type}\n${data({ type, ...body })}`;
const chunk = (delta: unknown, finish: string | null = null, more: Record<string, unknown> = {}) =>
  data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });

/** 11 tokens were read, 4 words written, and 17,000 hidden thinking tokens generated. */
const thought = 17_000;

interface Wire {
  /** Frames of the answer: two pieces of two words each. */
  readonly begin: string;
  readonly first: string;
  readonly second: string;
  /** Says that this is the end, or that what was being said is over. */
  readonly finish: string;
  /** What it cost. */
  readonly usage: string;
  readonly terminal: string;
}

const response = (status: string, usage: unknown = null) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model,
  status,
  output: [],
  usage,
});
const wires: Readonly<Record<Dialect, Wire>> = {
  'openai-chat': {
    begin: chunk({ role: 'assistant', content: '' }),
    first: chunk({ content: 'one two ' }),
    second: chunk({ content: 'three four ' }),
    finish: chunk({}, 'stop'),
    usage: data({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      choices: [],
      usage: {
        prompt_tokens: 11,
        completion_tokens: 4 + thought,
        total_tokens: 15 + thought,
        completion_tokens_details: { reasoning_tokens: thought },
      },
    }),
    terminal: 'data: [DONE]\n\n',
  },
  'anthropic-messages': {
    begin:
      named('message_start', {
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 11, output_tokens: 1 },
        },
      }) + named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    first: named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'one two ' } }),
    second: named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'three four ' } }),
    finish: named('content_block_stop', { index: 0 }),
    usage: named('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 4 + thought, output_tokens_details: { thinking_tokens: thought } },
    }),
    terminal: named('message_stop', {}),
  },
  'gemini-generate': {
    begin: '',
    first: data({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'one two ' }] } }] }),
    second: data({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'three four ' }] } }] }),
    finish: data({ candidates: [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }] }),
    usage: data({
      candidates: [{ index: 0, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 11,
        candidatesTokenCount: 4,
        thoughtsTokenCount: thought,
        totalTokenCount: 15 + thought,
      },
    }),
    terminal: '',
  },
  'openai-responses': {
    begin:
      named('response.created', { response: response('in_progress') }) +
      named('response.output_item.added', {
        output_index: 0,
        item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
      }),
    first: named('response.output_text.delta', {
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'one two ',
    }),
    second: named('response.output_text.delta', {
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'three four ',
    }),
    finish: named('response.output_item.done', {
      output_index: 0,
      item: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'one two three four ', annotations: [] }],
      },
    }),
    usage: named('response.completed', {
      response: response('completed', {
        input_tokens: 11,
        output_tokens: 4 + thought,
        output_tokens_details: { reasoning_tokens: thought },
        total_tokens: 15 + thought,
      }),
    }),
    terminal: '',
  },
};

const featuresIn: Readonly<Record<Dialect, (stream: boolean) => { path: string; body: unknown }>> = {
  'openai-chat': (stream) => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'anthropic-messages': (stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 50_000, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'gemini-generate': (stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  }),
  'openai-responses': (stream) => ({ path: '/v1/responses', body: { model, stream, input: 'hi' } }),
};

const channels: Readonly<Record<Dialect, Record<string, unknown>>> = {
  'openai-chat': { setting: '{"dialect":"openai-chat"}' },
  'anthropic-messages': { type: 14 },
  'gemini-generate': { type: 24 },
  'openai-responses': { setting: '{"dialect":"openai-responses"}' },
};

function post(path: string, body: unknown) {
  const leave = new AbortController();
  const requested = fetch(`http://127.0.0.1:${door.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leave.signal,
  });
  return { requested, leave: () => leave.abort() };
}

/** Reads what comes, as far as anybody looks. */
function reading(answer: Response) {
  let text = '';
  const reader = answer.body?.pipeThrough(new TextDecoderStream() as never).getReader() as
    | ReadableStreamDefaultReader<string>
    | undefined;
  void (async () => {
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) return;
      text += part.value;
    }
  })().catch(() => undefined);
  return { text: () => text };
}

const fast = { timeout: 8000, interval: 2 };
/** The upstream's headers have come, and nothing else. @param before steps of earlier requests. */
const answered = (before = 0) => expect.poll(() => steps, fast).toBe(before + 3);
/** The relay knows that its client left, and reads on for the bill. */
const readsOn = () => time.waitsFor(billMs);
/** What the relay reads before a stream is open leaves no trace. */
const soon = () => Bun.sleep(50);

interface UpstreamStream {
  write(text: string): unknown;
  end(): unknown;
}

/** Sends it in a stream that is open. Resolves when the relay has read it. */
async function passed(up: UpstreamStream, text: string): Promise<void> {
  const before = steps;
  up.write(text);
  await expect.poll(() => steps, fast).toBeGreaterThan(before);
}

/** The upstream's side of one stream, played by hand. */
function playing() {
  const { promise, resolve } = Promise.withResolvers<UpstreamStream>();
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.flushHeaders();
    resolve(answer);
  });
  return promise;
}

const dialects = Object.keys(wires) as Dialect[];
const other: Readonly<Record<Dialect, Dialect>> = {
  'openai-chat': 'anthropic-messages',
  'anthropic-messages': 'openai-chat',
  'gemini-generate': 'openai-chat',
  'openai-responses': 'openai-chat',
};
const points = ['first delta', 'middle', 'finish before usage', 'usage before the terminal frame'] as const;
const table = dialects.flatMap((spoken) =>
  [spoken, other[spoken]].flatMap((received) => points.map((point) => [spoken, received, point] as const)),
);

/** gpt-4o-mini: 0.075 a token read, four times that a token written. */
const price = (read: number, written: number) => Math.round((read + 4 * written) * 0.075);

test.each(table)(
  'an upstream that speaks %s, a client that hears %s and leaves after: %s',
  async (spoken, received, point) => {
    await gateway.channel(upstream.url, channels[spoken]);
    const wire = wires[spoken];
    const stream = playing();
    const { path, body } = featuresIn[received](true);
    const { requested, leave } = post(path, body);
    const up = await stream;
    up.write(wire.begin + wire.first);
    const { text } = reading(await requested);
    await expect.poll(text, fast).toContain('one two ');
    if (point !== 'first delta') {
      up.write(wire.second);
      await expect.poll(text, fast).toContain('three four ');
    }
    if (point === 'first delta' || point === 'middle') {
      leave();
      const log = await row();
      expect(log).toMatchObject({ end_reason: 'client_gone', completion_tokens: point === 'middle' ? 4 : 2 });
      await expect.poll(() => upstream.requests[0]?.closed, fast).toBe(true);
      return;
    }
    await passed(up, wire.finish);
    if (point === 'usage before the terminal frame') await passed(up, wire.usage);
    else if (received === spoken && (spoken === 'openai-chat' || spoken === 'gemini-generate')) {
      // The end is not reported as long as its cost is unknown.
      await time.advance(billMs - 100);
      expect(text()).not.toMatch(/"finish_?[rR]eason":"(?!null)/);
    }
    leave();
    if (point === 'finish before usage') {
      await readsOn();
      await time.advance(billMs - 100);
      up.write(wire.usage);
    }
    up.write(wire.terminal);
    up.end();
    const log = await row();
    expect(log).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 4 + thought,
      usage_source: 'reported',
      quota: price(11, 4 + thought),
    });
  },
);

test('the end waits for its bill, and goes out with it before anything else follows', async () => {
  await gateway.channel(upstream.url);
  const wire = wires['openai-chat'];
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested } = post(path, body);
  const up = await stream;
  up.write(wire.begin + wire.first + wire.finish);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  expect(text()).not.toContain('"stop"');
  await passed(up, wire.usage);
  await expect.poll(text, fast).toContain('"stop"');
  expect(text()).not.toContain('[DONE]');
  up.write(wire.terminal);
  up.end();
  await row();
  // The client did not ask for the usage.
  await expect.poll(text, fast).toBe(wire.begin + wire.first + wire.finish + wire.terminal);
});

test('an answer that comes with its end in one frame waits as well', async () => {
  await gateway.channel(upstream.url);
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(chunk({ role: 'assistant', content: 'yes' }, 'stop'));
  // Nothing may go out, not even the status.
  expect(await Promise.race([requested, soon()])).toBeUndefined();
  leave();
  await readsOn();
  up.write(wires['openai-chat'].usage);
  up.end();
  await requested.catch(() => undefined);
  expect(await row()).toMatchObject({ completion_tokens: 4 + thought, usage_source: 'reported' });
});

test('a bill that never comes is not waited for longer than is granted', async () => {
  await gateway.channel(upstream.url);
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(wires['openai-chat'].first + wires['openai-chat'].finish);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  await time.advance(billMs - 100);
  expect(text()).not.toContain('"stop"');
  await time.advance(200);
  await expect.poll(text, fast).toContain('"stop"');
  leave();
  await readsOn();
  await time.advance(billMs - 100);
  expect(gateway.relay.open()).toBe(1);
  await time.advance(200);
  expect(await row()).toMatchObject({ completion_tokens: 2, end_reason: 'client_gone', usage_source: 'estimated' });
  await expect.poll(() => upstream.requests[0]?.closed, fast).toBe(true);
});

test('of several choices one may end before the others: they go on', async () => {
  await gateway.channel(upstream.url);
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested } = post(path, { ...(body as object), n: 2 });
  const up = await stream;
  const second = (delta: unknown, finish: string | null = null) =>
    data({ id: 'chatcmpl-1', choices: [{ index: 1, delta, finish_reason: finish }], usage: null });
  up.write(wires['openai-chat'].first + wires['openai-chat'].finish);
  const { text } = reading(await requested);
  up.write(second({ content: 'another ' }));
  await expect.poll(text, fast).toContain('another ');
  expect(text()).toContain('"stop"');
  await passed(up, second({}, 'length'));
  expect(text()).not.toContain('"length"');
  up.write(wires['openai-chat'].usage + wires['openai-chat'].terminal);
  up.end();
  expect(await row()).toMatchObject({ completion_tokens: 4 + thought, usage_source: 'reported' });
  expect(text()).toContain('"length"');
});

test('a client that disconnects between two blocks is not read on for when the next one begins', async () => {
  await gateway.channel(upstream.url, channels['anthropic-messages']);
  const wire = wires['anthropic-messages'];
  const stream = playing();
  const { path, body } = featuresIn['anthropic-messages'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(wire.begin + wire.first + wire.finish);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('content_block_stop');
  leave();
  await readsOn();
  expect(upstream.requests[0]?.closed).toBe(false);
  up.write(named('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }));
  await expect.poll(() => upstream.requests[0]?.closed, fast).toBe(true);
  expect(await row()).toMatchObject({ prompt_tokens: 11, completion_tokens: 2, end_reason: 'client_gone' });
});

test('thoughts the client saw are counted once, also where a part of the usage was reported', async () => {
  await gateway.channel(upstream.url, channels['anthropic-messages']);
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(
    named('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        usage: { input_tokens: 11, output_tokens: 1 },
      },
    }) +
      named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
      named('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'a b c d e ' } }),
  );
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('a b c d e');
  leave();
  expect(await row()).toMatchObject({ prompt_tokens: 11, completion_tokens: 5, usage_source: 'partial' });
});

test('a client that disconnects before the first word pays for what the upstream read', async () => {
  await gateway.channel(upstream.url, channels['anthropic-messages']);
  const stream = playing();
  const { path, body } = featuresIn['anthropic-messages'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(wires['anthropic-messages'].begin);
  await soon();
  leave();
  await requested.catch(() => undefined);
  expect(await row()).toMatchObject({
    prompt_tokens: 11,
    completion_tokens: 1,
    end_reason: 'client_gone',
    usage_source: 'partial',
    type: 2,
  });
});

test('a response in one piece that is on its way is charged although its client left', async () => {
  await gateway.channel(upstream.url);
  const whole = JSON.stringify({
    id: 'chatcmpl-1',
    choices: [{ index: 0, message: { role: 'assistant', content: 'one two' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  });
  const begun = Promise.withResolvers<() => void>();
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': String(whole.length) });
    answer.write(whole.slice(0, 20));
    begun.resolve(() => answer.end(whole.slice(20)));
  });
  const { path, body } = featuresIn['openai-chat'](false);
  const { requested, leave } = post(path, body);
  const finish = await begun.promise;
  await answered();
  leave();
  await requested.catch(() => undefined);
  await readsOn();
  finish();
  expect(await row()).toMatchObject({ prompt_tokens: 11, completion_tokens: 7, end_reason: 'client_gone' });
});

test('an answer that is gathered for the client is read to its bill when only that is left', async () => {
  await gateway.channel(upstream.url, channels['openai-chat']);
  const wire = wires['openai-chat'];
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](false);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(wire.begin + wire.first + wire.finish);
  await soon();
  leave();
  await requested.catch(() => undefined);
  await readsOn();
  up.write(wire.usage + wire.terminal);
  up.end();
  expect(await row()).toMatchObject({
    completion_tokens: 4 + thought,
    usage_source: 'reported',
    end_reason: 'client_gone',
  });
});

test('audio whose client left is charged', async () => {
  await gateway.channel(upstream.url, { models: 'tts-1' });
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'audio/mpeg' });
    answer.flushHeaders();
  });
  const { requested, leave } = post('/v1/audio/speech', { model: 'tts-1', input: 'hello', voice: 'alloy' });
  await answered();
  leave();
  await requested.then(
    (answer) => answer.body?.cancel(),
    () => undefined,
  );
  expect(await row()).toMatchObject({ prompt_tokens: 5, end_reason: 'client_gone', type: 2 });
});

test('pictures whose maker answered are paid for by the piece', async () => {
  await gateway.channel(upstream.url, { models: 'dall-e-3' });
  const { requested: bought } = post('/v1/images/generations', { model: 'dall-e-3', prompt: 'a cat' });
  upstream.script((answer) => sendJson(answer, { created: 1, data: [{ url: 'http://127.0.0.1/cat.png' }] }));
  await bought;
  const full = (await row())?.quota;
  expect(full).toBeGreaterThan(0);
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.write('{"created":1,');
  });
  const before = steps;
  const { requested, leave } = post('/v1/images/generations', { model: 'dall-e-3', prompt: 'a cat' });
  await answered(before);
  leave();
  await requested.catch(() => undefined);
  await readsOn();
  await time.advance(billMs);
  expect(await row()).toMatchObject({ quota: full, end_reason: 'client_gone' });
});

/** Speaks bytes. */
function byHand(version: string) {
  const socket = connect(door.port, '127.0.0.1');
  const { path, body } = featuresIn['openai-chat'](true);
  const text = JSON.stringify(body);
  socket.write(
    `POST ${path} HTTP/${version}\r\nHost: gateway\r\nAuthorization: Bearer sk-${key}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString();
  });
  socket.on('error', () => undefined);
  return { socket, received: () => received };
}

test.each(['1.0', '1.1'])('a client of HTTP %s that closes before the bill', async (version) => {
  await gateway.channel(upstream.url);
  const wire = wires['openai-chat'];
  const stream = playing();
  const { socket, received } = byHand(version);
  const up = await stream;
  up.write(wire.begin + wire.first);
  await expect.poll(received, fast).toContain('one two ');
  await passed(up, wire.finish);
  socket.destroy();
  await readsOn();
  up.write(wire.usage + wire.terminal);
  up.end();
  expect(await row()).toMatchObject({ completion_tokens: 4 + thought, usage_source: 'reported' });
});

test('a client that closes its half has left, and pays for what it got', async () => {
  await gateway.channel(upstream.url);
  const wire = wires['openai-chat'];
  const stream = playing();
  const { socket, received } = byHand('1.1');
  const up = await stream;
  up.write(wire.begin + wire.first);
  await expect.poll(received, fast).toContain('one two ');
  socket.end();
  const log = await row();
  expect(log).toMatchObject({ completion_tokens: 2, end_reason: 'client_gone' });
  socket.destroy();
});

test('a client that disconnects before the first word of a stream that is read on leaves no reservation behind', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":true}' });
  const wire = wires['openai-chat'];
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  await answered();
  leave();
  await requested.catch(() => undefined);
  // As the channel is set.
  await time.waitsFor(30_000);
  up.write(wire.begin + wire.first + wire.second + wire.finish + wire.usage + wire.terminal);
  up.end();
  expect(await row()).toMatchObject({ completion_tokens: 4 + thought, end_reason: 'client_gone' });
});

test('streamed speech is counted by its length where the upstream does not report its cost', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o-audio-preview' });
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested, leave } = post(path, {
    ...(body as object),
    model: 'gpt-4o-audio-preview',
    modalities: ['text', 'audio'],
  });
  const up = await stream;
  const second = Buffer.alloc(48_000).toString('base64');
  up.write(chunk({ role: 'assistant', audio: { id: 'audio_1', transcript: 'one two ' } }));
  up.write(chunk({ audio: { id: 'audio_1', data: second } }));
  up.write(chunk({ audio: { id: 'audio_1', data: second } }));
  const { text } = reading(await requested);
  await expect.poll(() => text().length).toBeGreaterThan(100_000);
  leave();
  await readsOn();
  await time.advance(billMs);
  const log = await row();
  // 20 tokens a second.
  expect(log).toMatchObject({ completion_tokens: 42, end_reason: 'client_gone', usage_source: 'estimated' });
  expect(JSON.parse(log?.other ?? '')).toMatchObject({ audio_output: 40 });
});

test('usage in the middle of a stream is no bill', async () => {
  await gateway.channel(upstream.url);
  const wire = wires['openai-chat'];
  const stream = playing();
  const { path, body } = featuresIn['openai-chat'](true);
  const { requested, leave } = post(path, body);
  const up = await stream;
  up.write(
    chunk({ content: 'one two ' }, null, { usage: { prompt_tokens: 11, completion_tokens: 1, total_tokens: 12 } }),
  );
  up.write(wire.second);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('three four');
  await passed(up, wire.finish);
  await time.advance(billMs - 100);
  expect(text()).not.toContain('"stop"');
  leave();
  await readsOn();
  up.write(wire.usage + wire.terminal);
  up.end();
  expect(await row()).toMatchObject({ prompt_tokens: 11, completion_tokens: 4 + thought, usage_source: 'reported' });
});
