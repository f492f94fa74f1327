/** Models that think before they answer: what was thought is paid for, also by a client that leaves before the upstream reports it. */
import { afterAll, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { ClientDisconnect } from '../../server/relay/upstream/client-disconnect.ts';
import type { OpenStream } from '../../server/relay/upstream/open-stream.ts';
import { thoughtTime } from '../../server/relay/upstream/thinking.ts';
import { openRelayDoor } from '../support/door.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** How long a bill is waited for. */
const billMs = 3000;
const time = new VirtualTime();
/** Added to the relay's clock. */
let clockLeadMs = 0;
const { monoNow, set, every } = time;
const {
  gateway,
  upstream,
  key,
  row: lastLog,
} = await sharedGateway({
  limits: { billMs },
  relay: { timers: { now: () => time.now() + clockLeadMs, monoNow, set, every } },
});
const door = openRelayDoor(gateway.relay);

const priced = [
  'o3-mini',
  'claude-opus-5',
  'claude-sonnet-4-5',
  'claude-sonnet-4-5-thinking',
  'gemini-3-pro-preview',
  'deepseek-reasoner',
  'my-model',
];
await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(priced.map((name) => [name, 1]))));

afterAll(() => door.stop(100));

type Dialect = 'openai-chat' | 'anthropic-messages' | 'gemini-generate' | 'openai-responses';
const model = 'o3-mini';
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

const featuresIn: Readonly<Record<Dialect, (name?: string, more?: object) => { path: string; body: object }>> = {
  'openai-chat': (name = model, more = {}) => ({
    path: '/v1/chat/completions',
    body: { model: name, stream: true, messages: [{ role: 'user', content: 'hi' }], ...more },
  }),
  'anthropic-messages': (name = model, more = {}) => ({
    path: '/v1/messages',
    body: { model: name, stream: true, max_tokens: 50_000, messages: [{ role: 'user', content: 'hi' }], ...more },
  }),
  'gemini-generate': (name = model, more = {}) => ({
    path: `/v1beta/models/${name}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...more },
  }),
  'openai-responses': (name = model, more = {}) => ({
    path: '/v1/responses',
    body: { model: name, stream: true, input: 'hi', ...more },
  }),
};

const channels: Readonly<Record<Dialect, Record<string, unknown>>> = {
  'openai-chat': { setting: '{"dialect":"openai-chat"}' },
  'anthropic-messages': { type: 14 },
  'gemini-generate': { type: 24 },
  'openai-responses': { setting: '{"dialect":"openai-responses"}' },
};

const addChannel = (dialect: Dialect, models = model) =>
  gateway.channel(upstream.url, { ...channels[dialect], models });

function post({ path, body }: { readonly path: string; readonly body: object }) {
  const leave = new AbortController();
  const requested = fetch(`http://127.0.0.1:${door.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
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

interface Playing {
  write(text: string): unknown;
  end(): unknown;
  destroy(): unknown;
}

/** The upstream's side of one stream, played by hand. */
function playing() {
  const { promise, resolve } = Promise.withResolvers<Playing>();
  upstream.script((answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.flushHeaders();
    resolve(answer);
  });
  return promise;
}

const fast = { timeout: 8000, interval: 2 };
const cancelled = () => expect.poll(() => upstream.requests[0]?.closed, fast).toBe(true);
/** The relay knows that its client left, and reads on for the bill. */
const readsOn = () => time.waitsFor(billMs);
/** So does it until no bill can be waited for any more. */
const billOverdue = async () => {
  await readsOn();
  await time.advance(billMs);
};
/** What the relay reads before a stream is open leaves no trace. */
const soon = () => Bun.sleep(50);

const dialects = Object.keys(wires) as Dialect[];
const other: Readonly<Record<Dialect, Dialect>> = {
  'openai-chat': 'anthropic-messages',
  'anthropic-messages': 'openai-chat',
  'gemini-generate': 'openai-chat',
  'openai-responses': 'openai-chat',
};
const thinkers: Readonly<Record<Dialect, string>> = {
  'openai-chat': 'o3-mini',
  'openai-responses': 'o3-mini',
  'anthropic-messages': 'claude-opus-5',
  'gemini-generate': 'gemini-3-pro-preview',
};
const pairs = dialects.flatMap((spoken) => [spoken, other[spoken]].map((received) => [spoken, received] as const));

test.each(pairs)(
  'an upstream that speaks %s reports after a client that hears %s left with the last word: the report is charged',
  async (spoken, received) => {
    const name = thinkers[spoken];
    await addChannel(spoken, name);
    const wire = wires[spoken];
    const stream = playing();
    const { requested, leave } = post(featuresIn[received](name));
    const up = await stream;
    up.write(wire.begin + wire.first + wire.second);
    const { text } = reading(await requested);
    await expect.poll(text, fast).toContain('three four ');
    leave();
    await readsOn();
    expect(upstream.requests[0]?.closed).toBe(false);
    up.write(wire.finish + wire.usage + wire.terminal);
    up.end();
    expect(await lastLog()).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 4 + thought,
      usage_source: 'reported',
      end_reason: 'client_gone',
    });
  },
);

/** Seconds between request and first word. */
const longThought = 100;

test.each(pairs)(
  'an upstream that speaks %s and never reports, a client that hears %s: thoughts are charged by their time',
  async (spoken, received) => {
    const name = thinkers[spoken];
    await addChannel(spoken, name);
    const wire = wires[spoken];
    const stream = playing();
    const { requested, leave } = post(featuresIn[received](name));
    const up = await stream;
    up.write(wire.begin);
    await soon();
    clockLeadMs += longThought * 1000;
    up.write(wire.first + wire.second);
    const { text } = reading(await requested);
    await expect.poll(text, fast).toContain('three four ');
    leave();
    await billOverdue();
    const log = await lastLog();
    const { estimated_thought: estimated } = JSON.parse(log?.other ?? '{}');
    expect(estimated.ms).toBe(longThought * 1000);
    expect(estimated.tokens).toBe(Math.floor((estimated.ms / 1000) * estimated.tokens_per_second));
    expect(estimated.tokens).toBeGreaterThan(5000);
    expect(log).toMatchObject({ completion_tokens: 4 + estimated.tokens, end_reason: 'client_gone' });
    await cancelled();
  },
);

test('an estimated thought costs no more than what is held', async () => {
  await addChannel('openai-chat');
  const wire = wires['openai-chat'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-chat'](model, { max_completion_tokens: 3000 }));
  const up = await stream;
  clockLeadMs += 1_000_000;
  up.write(wire.begin + wire.first);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  await billOverdue();
  expect(await lastLog()).toMatchObject({ completion_tokens: 3000, end_reason: 'client_gone' });
});

test('a thought is charged once for each choice that was asked for', async () => {
  await addChannel('openai-chat');
  const wire = wires['openai-chat'];
  const thoughtOf = async (more: object) => {
    const stream = playing();
    const { requested, leave } = post(featuresIn['openai-chat'](model, more));
    const up = await stream;
    clockLeadMs += 10_000;
    up.write(wire.begin + wire.first);
    const { text } = reading(await requested);
    await expect.poll(text, fast).toContain('one two ');
    leave();
    await billOverdue();
    return JSON.parse((await lastLog())?.other ?? '{}').estimated_thought;
  };
  const one = await thoughtOf({});
  const three = await thoughtOf({ n: 3 });
  expect(three.tokens).toBe(Math.floor((three.ms / 1000) * three.tokens_per_second * 3));
  expect(three.tokens).toBeGreaterThan(2 * one.tokens);
});

test('thoughts that come as a summary count less than the time they took: the larger of both is charged', async () => {
  await addChannel('openai-responses');
  const wire = wires['openai-responses'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-responses'](model, { reasoning: { summary: 'auto' } }));
  const up = await stream;
  up.write(
    wire.begin +
      named('response.output_item.added', { output_index: 1, item: { id: 'rs_1', type: 'reasoning', summary: [] } }) +
      named('response.reasoning_summary_text.delta', { output_index: 1, delta: 'a b c d ' }),
  );
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('a b c d ');
  clockLeadMs += longThought * 1000;
  up.write(wire.first);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  await billOverdue();
  const log = await lastLog();
  const { estimated_thought: estimated } = JSON.parse(log?.other ?? '{}');
  expect(estimated.ms).toBe(longThought * 1000);
  expect(log?.completion_tokens).toBe(6 + estimated.tokens);
  expect(Math.abs(estimated.tokens + 4 - (estimated.ms / 1000) * estimated.tokens_per_second)).toBeLessThan(2);
});

test('thoughts that are shown in full are counted, and not charged by their time', async () => {
  const name = 'deepseek-reasoner';
  await addChannel('openai-chat', name);
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-chat'](name));
  const up = await stream;
  up.write(chunk({ reasoning_content: 'a b c d ' }));
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('a b c d ');
  clockLeadMs += longThought * 1000;
  up.write(chunk({ content: 'one two ' }));
  await expect.poll(text, fast).toContain('one two ');
  leave();
  expect(await lastLog()).toMatchObject({ completion_tokens: 6, end_reason: 'client_gone' });
});

test('thoughts that a request hides are charged by their time where they are usually shown', async () => {
  await addChannel('openai-chat', 'deepseek-reasoner');
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-chat']('deepseek-reasoner', { include_reasoning: false }));
  const up = await stream;
  clockLeadMs += longThought * 1000;
  up.write(chunk({ content: 'one two ' }));
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  await billOverdue();
  const log = await lastLog();
  const { estimated_thought: estimated } = JSON.parse(log?.other ?? '{}');
  expect(log?.completion_tokens).toBe(2 + estimated.tokens);
});

test.each([
  ['is not asked to think', {}, false],
  ['is asked to think', { thinking: { type: 'enabled', budget_tokens: 2000 } }, true],
  ['switches thinking off', { thinking: { type: 'disabled' } }, false],
])('a model that thinks only where it is asked to, and %s', async (_name, more, drained) => {
  await addChannel('anthropic-messages', 'claude-sonnet-4-5');
  const wire = wires['anthropic-messages'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['anthropic-messages']('claude-sonnet-4-5', more));
  const up = await stream;
  up.write(wire.begin + wire.first);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  if (drained) {
    await readsOn();
    expect(upstream.requests[0]?.closed).toBe(false);
    up.write(wire.finish + wire.usage + wire.terminal);
    up.end();
  } else await cancelled();
  const log = await lastLog();
  expect(log?.completion_tokens).toBe(drained ? 4 + thought : 2);
});

test('the usage of a model that its name’s suffix makes think is read after the client left', async () => {
  const name = 'claude-sonnet-4-5-thinking';
  await addChannel('anthropic-messages', name);
  const wire = wires['anthropic-messages'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['anthropic-messages'](name));
  const up = await stream;
  up.write(wire.begin + wire.first);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  await readsOn();
  expect(upstream.requests[0]?.closed).toBe(false);
  up.write(wire.finish + wire.usage + wire.terminal);
  up.end();
  expect(await lastLog()).toMatchObject({ completion_tokens: 4 + thought, usage_source: 'reported' });
});

test('a model of an unknown name is read on for where it is asked to think', async () => {
  await addChannel('openai-chat', 'my-model');
  const wire = wires['openai-chat'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-chat']('my-model', { reasoning_effort: 'high' }));
  const up = await stream;
  up.write(wire.begin + wire.first);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  await readsOn();
  up.write(wire.finish + wire.usage + wire.terminal);
  up.end();
  expect(await lastLog()).toMatchObject({ completion_tokens: 4 + thought, usage_source: 'reported' });
});

test('a thought that only the stream shows, sealed, is read on for', async () => {
  await addChannel('anthropic-messages', 'claude-sonnet-4-5');
  const wire = wires['anthropic-messages'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['anthropic-messages']('claude-sonnet-4-5'));
  const up = await stream;
  const sealed = { type: 'redacted_thinking', data: 'abc' };
  up.write(wire.begin + named('content_block_start', { index: 1, content_block: sealed }) + wire.first);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  leave();
  await readsOn();
  up.write(wire.finish + wire.usage + wire.terminal);
  up.end();
  expect(await lastLog()).toMatchObject({ completion_tokens: 4 + thought, usage_source: 'reported' });
});

test('a client that leaves before the first word pays what the upstream reports soon after', async () => {
  await addChannel('openai-responses');
  const wire = wires['openai-responses'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-responses']());
  const up = await stream;
  up.write(wire.begin);
  await soon();
  leave();
  await requested.catch(() => undefined);
  await readsOn();
  up.write(wire.first + wire.second + wire.finish + wire.usage);
  up.end();
  expect(await lastLog()).toMatchObject({
    completion_tokens: 4 + thought,
    usage_source: 'reported',
    end_reason: 'client_gone',
  });
});

test('an upstream that breaks off after words is paid for what it thought', async () => {
  await addChannel('openai-chat');
  const wire = wires['openai-chat'];
  const stream = playing();
  const { requested } = post(featuresIn['openai-chat']());
  const up = await stream;
  clockLeadMs += longThought * 1000;
  up.write(wire.begin + wire.first);
  const { text, over } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  up.destroy();
  await over;
  const log = await lastLog();
  const { estimated_thought: estimated } = JSON.parse(log?.other ?? '{}');
  expect(log).toMatchObject({ end_reason: 'upstream_broken', completion_tokens: 2 + estimated.tokens });
});

test('a stream that is ended at a blocked word is cancelled at once, and its thoughts are charged by their time', async () => {
  await gateway.option('SensitiveWords', 'forbidden');
  await gateway.option('StopOnSensitiveEnabled', 'true');
  await addChannel('openai-chat');
  const wire = wires['openai-chat'];
  const stream = playing();
  const { requested } = post(featuresIn['openai-chat']());
  const up = await stream;
  clockLeadMs += longThought * 1000;
  up.write(wire.begin + wire.first);
  const { text, over } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  up.write(chunk({ content: 'forbidden' }));
  await over;
  await cancelled();
  await gateway.option('StopOnSensitiveEnabled', 'false');
  const log = await lastLog();
  const { estimated_thought: estimated } = JSON.parse(log?.other ?? '{}');
  expect(log).toMatchObject({ end_reason: 'word_cut', completion_tokens: 2 + estimated.tokens });
});

test('reading on ends when the relay is cut, and the reservation stays until then', async () => {
  await addChannel('openai-chat');
  const wire = wires['openai-chat'];
  const stream = playing();
  const { requested, leave } = post(featuresIn['openai-chat']());
  const up = await stream;
  up.write(wire.begin + wire.first);
  const { text } = reading(await requested);
  await expect.poll(text, fast).toContain('one two ');
  const available = () => gateway.balances.account(gateway.userId, 0).available(false);
  const held = available();
  leave();
  await readsOn();
  expect(gateway.relay.open()).toBe(1);
  expect(available()).toBe(held);
  gateway.relay.cut(new AppError('shutting_down'));
  await cancelled();
  await lastLog();
  expect(available()).toBeGreaterThan(held);
});

test('so many upstreams are read on for at a time and no more', () => {
  const drains = { open: 0 };
  const leaves = () => {
    const departure = new ClientDisconnect(new AbortController().signal, 60_000, new VirtualTime(), drains);
    departure.expecting(() => true);
    departure.leave();
    return departure;
  };
  const first = leaves();
  for (let others = 0; others < 1000; others++) leaves();
  expect(leaves().upstream.aborted).toBe(true);
  expect(first.upstream.aborted).toBe(false);
  const { open } = drains;
  first.over();
  first.over();
  expect(drains.open).toBe(open - 1);
  expect(leaves().upstream.aborted).toBe(false);
});

test('a clock that was set back makes no thought shorter than nothing', () => {
  const frameRelay = { firstWordMs: 50, usageAfterWord: false, words: () => ({ units: 1, spokenSeconds: 0 }) };
  const time = thoughtTime({ frameRelay, sentMs: 100 } as unknown as OpenStream, 20);
  expect(time).toEqual({ ms: 0, wordsMs: 0 });
});
