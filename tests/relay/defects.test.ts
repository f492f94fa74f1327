/** A defect of ours is said to be ours: reported with its request, no channel blamed or tried, charged at most what was delivered, the client told. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StreamReader, StreamWriter } from '../../server/protocols/codec.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { parseExact } from '../../server/protocols/shared/json.ts';
import { Limits, unlimited } from '../../server/relay/admission/limits.ts';
import { MoneyQueue } from '../../server/relay/admission/money-queue.ts';
import { Reservation } from '../../server/relay/admission/reservation.ts';
import { ResponseStream } from '../../server/relay/delivery/stream.ts';
import { Turns } from '../../server/relay/endpoints/realtime/turns.ts';
import { RelayRequest } from '../../server/relay/relay-request.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import { IntervalTimers } from '../../server/relay/shared/interval-timers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { realtimeUsage, startRealtimeUpstream } from '../support/realtime-upstream.ts';

const chunk = (delta: object, finish: string | null = null, usage?: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...(usage === undefined ? {} : { usage }) })}\n\n`;
const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
/** Three words of eight letters, then the one that trips, then the end with its usage. */
const frames = [
  ...['one two ', 'red blue ', 'far near '].map((content) => chunk({ content })),
  chunk({ content: 'tripwire' }),
  chunk({}, 'stop', usage),
  'data: [DONE]\n\n',
];
const whole = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'one two tripwire' }, finish_reason: 'stop' }],
  usage,
};

let gateway: TestGateway;
/** Hosts that were called, in order. */
let called: string[];
let streamed: readonly string[];
let answer: object;
/** Each frame comes as a piece of its own. */
let inPieces: boolean;

function piecesOf(frames: readonly string[]): ReadableStream<Uint8Array> {
  const left = [...frames];
  return new ReadableStream({
    async pull(controller) {
      await new Promise((done) => setImmediate(done));
      const frame = left.shift();
      if (frame === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(frame));
    },
  });
}

const upstream = (async (url: string, init: { readonly body: Uint8Array | string }) => {
  called.push(new URL(url).host);
  const body = typeof init.body === 'string' ? init.body : Buffer.from(init.body).toString();
  return body.includes('"stream":true')
    ? new Response(inPieces ? piecesOf(streamed) : streamed.join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    : Response.json(answer);
}) as unknown as typeof fetch;

const open = async (options: Parameters<typeof createTestGateway>[0] = {}) => {
  gateway = await createTestGateway({ quota: 1_000_000_000, upstreamFetch: upstream, ...options });
  await gateway.channel('http://first.test', { priority: 10 });
  await gateway.channel('http://second.test');
  await gateway.option('ModelRatio', '{"gpt-4o-mini":1}');
  await gateway.option('CompletionRatio', '{"gpt-4o-mini":1}');
};
beforeEach(async () => {
  called = [];
  streamed = frames;
  answer = whole;
  inPieces = false;
  await open();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
});

const defect = new TypeError('undefined is not an object');
const trip = (): never => {
  throw defect;
};

const tripping = (text: string, readers: 'every' | 'first' = 'every') => {
  const half = codecFor('openai-chat').upstream;
  const make = half.reader.bind(half);
  let made = 0;
  vi.spyOn(half, 'reader').mockImplementation((): StreamReader => {
    const reader = make();
    if (readers === 'first' && made++ > 0) return reader;
    const feed = reader.feed.bind(reader);
    reader.feed = (frame) => (frame.data.includes(text) ? trip() : feed(frame));
    return reader;
  });
};

const bodyOf = (stream: boolean) => ({
  model: 'gpt-4o-mini',
  stream,
  max_tokens: 50,
  messages: [{ role: 'user', content: 'say some words' }],
});

async function ask(path: string, stream: boolean): Promise<{ response: Response; text: string }> {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(stream)),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { response, text: await response.text() };
}

/** What holds for every defect, wherever it was met. @returns the row. */
async function expectOurs(text: string, end: string) {
  const [row] = await gateway.logs();
  const requestId = row?.request_id ?? '';
  expect(gateway.defects.splice(0)).toEqual([{ error: defect, requestId }]);
  expect(text).toContain(requestId);
  expect(text).toContain('Internal server error');
  expect([row?.end_reason, gateway.relay.open(), gateway.troubles]).toEqual([end, 0, []]);
  expect(gateway.relay.stats().defects).toBeGreaterThan(0);
  const held = 1_000_000_000 - (await gateway.balance());
  expect(gateway.balances.account(gateway.userId, 0).available()).toBe(1_000_000_000 - held);
  expect(await gateway.verify()).toEqual([]);
  return row;
}

/** As many failures as eject a channel that is to blame. */
async function expectHealthy(path: string, stream: boolean): Promise<void> {
  for (let n = 0; n < 5; n++) await ask(path, stream);
  expect(called).toEqual(Array.from({ length: called.length }, () => 'first.test'));
  expect(gateway.relay.channelStatuses([1, 2])).toMatchObject([{ condition: 'up' }, { condition: 'up' }]);
  gateway.defects.splice(0);
}

test.each(['/v1/chat/completions', '/v1/messages'])(
  'a reader that trips before any content costs nothing and asks no other channel: %s',
  async (path) => {
    tripping('one two');
    const { response, text } = await ask(path, true);
    const row = await expectOurs(text, 'internal');
    expect([response.status, row?.quota, called]).toEqual([500, 0, ['first.test']]);
    await expectHealthy(path, true);
  },
);

test.each(['/v1/chat/completions', '/v1/messages'])(
  'a reader that trips after content ends the stream with its error, and what came before is charged: %s',
  async (path) => {
    await gateway.option('SensitiveWords', 'nothing-of-this');
    await gateway.option('StopOnSensitiveEnabled', 'true');
    tripping('tripwire');
    const { response, text } = await ask(path, true);
    const row = await expectOurs(text, 'internal');
    expect([response.status, called]).toEqual([200, ['first.test']]);
    expect([text.includes('far near'), text.includes('tripwire')]).toEqual([true, false]);
    // Three words of the prompt and six that were delivered, as the counter of this gateway counts; no more than twice of it is round it.
    expect(row?.completion_tokens).toBe(6);
    expect(row?.quota).toBe((row?.prompt_tokens ?? 0) + 6);
    await expectHealthy(path, true);
  },
);

test('a caller whose last frame trips our reader pays for what he got', async () => {
  tripping('"finish_reason":"stop"');
  const { text } = await ask('/v1/chat/completions', true);
  const row = await expectOurs(text, 'internal');
  expect(row?.completion_tokens).toBe(7);
});

test('an answer that our reader trips over only when it is counted is no gift', async () => {
  // No usage is reported, and the frames had gone out when their words are read.
  streamed = [...frames.slice(0, 4), chunk({}, 'stop'), 'data: [DONE]\n\n'];
  tripping('tripwire');
  const { text } = await ask('/v1/chat/completions', true);
  expect(text).toContain('tripwire');
  const [row] = await gateway.logs();
  expect(gateway.defects.splice(0)).toEqual([{ error: defect, requestId: row?.request_id }]);
  expect(row?.completion_tokens).toBeGreaterThanOrEqual(6);
});

test('a writer that trips ends the stream with its error, and what it could not write is not charged', async () => {
  const { translation } = codecFor('anthropic-messages');
  const make = translation.writer.bind(translation);
  vi.spyOn(translation, 'writer').mockImplementation((context): StreamWriter => {
    const writer = make(context);
    const write = writer.write.bind(writer);
    writer.write = (event) => (event.type === 'text-delta' && event.text === 'tripwire' ? trip() : write(event));
    return writer;
  });
  const { text } = await ask('/v1/messages', true);
  const row = await expectOurs(text, 'internal');
  expect([row?.completion_tokens, called]).toEqual([6, ['first.test']]);
});

test.each([
  [
    'the request',
    () => vi.spyOn(codecFor('anthropic-messages').translation, 'decodeRequest').mockImplementation(trip),
    [],
  ],
  [
    'the answer',
    () => vi.spyOn(codecFor('anthropic-messages').translation, 'encodeResponse').mockImplementation(trip),
    ['first.test'],
  ],
])('a translation of %s that trips costs nothing and blames nobody', async (_, plant, reached) => {
  plant();
  const { response, text } = await ask('/v1/messages', false);
  const row = await expectOurs(text, 'internal');
  expect([response.status, row?.quota, called]).toEqual([500, 0, reached]);
  await expectHealthy('/v1/messages', false);
});

test('a whole answer whose usage cannot be read costs nothing and blames nobody', async () => {
  vi.spyOn(codecFor('openai-chat').upstream, 'readUsage').mockImplementation(trip);
  const { response, text } = await ask('/v1/chat/completions', false);
  const row = await expectOurs(text, 'internal');
  expect([response.status, row?.quota]).toEqual([500, 0]);
  await expectHealthy('/v1/chat/completions', false);
});

test('a check of words that trips refuses the request as ours, before any channel', async () => {
  Object.defineProperty(gateway.state.settings, 'blockedWords', { get: trip });
  const { response, text } = await ask('/v1/chat/completions', false);
  const row = await expectOurs(text, 'refused');
  expect([response.status, row?.quota, called]).toEqual([500, 0, []]);
});

test('a count of the prompt that trips refuses the request as ours, and holds nothing', async () => {
  await gateway.close();
  await open({ quota: 40, relay: { counter: { count: async () => trip(), close: () => undefined } } });
  const { response, text } = await ask('/v1/chat/completions', false);
  const [row] = await gateway.logs();
  expect(gateway.defects.splice(0)).toEqual([{ error: defect, requestId: row?.request_id }]);
  expect(text).toContain(row?.request_id ?? 'no row');
  expect([response.status, called, gateway.balances.account(gateway.userId, 0).available()]).toEqual([500, [], 40]);
});

test('an answer whose words cannot be counted is delivered, and charged by its length', async () => {
  answer = { ...whole, usage: undefined };
  await gateway.close();
  await open({ relay: { counter: { count: async () => trip(), close: () => undefined } } });
  const { response, text } = await ask('/v1/chat/completions', false);
  expect([response.status, text.includes('tripwire')]).toEqual([200, true]);
  const [row] = await gateway.logs();
  expect(gateway.defects.splice(0)).toEqual([{ error: defect, requestId: row?.request_id }]);
  expect([row?.end_reason, row?.completion_tokens]).toEqual(['completed', 4]);
});

test('a count of tokens that trips is ours, and costs nothing', async () => {
  vi.spyOn(codecFor('anthropic-messages').definition, 'countAnswer').mockImplementation(trip);
  const { response, text } = await ask('/v1/messages/count_tokens', false);
  const row = await expectOurs(text, 'refused');
  expect([response.status, row?.quota]).toEqual([500, 0]);
});

test('an order of work that trips is ours, and costs nothing', async () => {
  await gateway.channel('http://first.test', { type: 2, models: 'mj_imagine' });
  await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
  answer = { code: 1, description: 'ok', result: { toString: 0, valueOf: 0 } };
  const { key } = await gateway.token();
  const request = new Request('http://gateway/mj/submit/imagine', {
    method: 'POST',
    headers: { 'mj-api-secret': `sk-${key}`, 'content-type': 'application/json' },
    body: '{"prompt":"a cat"}',
  });
  const response = await gateway.relay.handle(request, '/mj/submit/imagine', { ip: () => '127.0.0.1' });
  const text = await response.text();
  const [row] = await gateway.logs();
  expect(gateway.defects.splice(0)).toEqual([{ error: expect.any(TypeError), requestId: row?.request_id }]);
  expect(text).toContain(row?.request_id ?? 'no row');
  expect([response.status, row?.end_reason, row?.quota, await gateway.balance()]).toEqual([
    500,
    'internal',
    0,
    1_000_000_000,
  ]);
});

test('a channel test that meets a defect says so, and the channel stays as it was', async () => {
  await gateway.close();
  await open({ channelTests: true });
  vi.spyOn(codecFor('openai-chat').upstream, 'readUsage').mockImplementation(trip);
  const result = await gateway.services.channels.test(1, 'gpt-4o-mini', false).catch((error: unknown) => error);
  expect(JSON.stringify([result, (result as Error).message])).toContain('Internal server error');
  expect(gateway.defects.splice(0)).toEqual([{ error: defect, requestId: expect.stringMatching(/\w/) }]);
  expect([gateway.troubles, gateway.relay.channelStatuses([1])]).toEqual([[], [{ condition: 'up', waitMs: 0 }]]);
});

test('a conversation that meets a defect ends with its error, is charged for what was said, and holds nothing', async () => {
  const talks = startRealtimeUpstream({
    answer(one) {
      one.print('one two');
      one.done(realtimeUsage(9, 6));
    },
  });
  const model = 'gpt-4o-realtime-preview';
  await gateway.channel(talks.url, { models: model });
  await gateway.option('ModelRatio', JSON.stringify({ [model]: 1 }));
  const { key } = await gateway.token();
  const requested = new Request(`http://gateway/v1/realtime?model=${model}`, {
    headers: { authorization: `Bearer sk-${key}`, upgrade: 'websocket' },
  });
  const conversation = await gateway.relay.realtime(requested, { ip: () => '127.0.0.1' });
  if (conversation instanceof Response) throw new Error(`refused: ${conversation.status}`);
  const sent: string[] = [];
  const closed = Promise.withResolvers<number | undefined>();
  conversation.open({ send: (data) => sent.push(String(data)), close: (code) => closed.resolve(code) });
  vi.spyOn(Turns.prototype, 'sent').mockImplementation(trip);
  conversation.message('{"type":"response.create"}');
  expect(await closed.promise).toBe(1011);
  vi.restoreAllMocks();
  await vi.waitFor(async () => expect(await gateway.logs()).toHaveLength(1));
  await expectOurs(sent.at(-1) ?? '', 'internal');
  await talks.stop();
});

/** What is held and open once a request has ended, and what it was charged. */
async function expectNothingHeld(charged: number) {
  expect(gateway.defects.length).toBeGreaterThan(0);
  gateway.defects.splice(0);
  await gateway.ledger.drain();
  expect([gateway.relay.open(), await gateway.balance()]).toEqual([0, 1_000_000_000 - charged]);
  expect(gateway.balances.account(gateway.userId, 0).available()).toBe(1_000_000_000 - charged);
  expect(await gateway.verify()).toEqual([]);
}

test.each([false, true])('a request whose end trips each time gives its hold back: streamed %s', async (stream) => {
  vi.spyOn(Reservation.prototype, 'finish').mockImplementation(trip);
  const { text } = await ask('/v1/chat/completions', stream);
  expect(text).toContain('Internal server error');
  await expectNothingHeld(0);
});

test('a bill that trips before the money moves is none, and the hold comes back', async () => {
  vi.spyOn(Reservation.prototype as unknown as { release(): number }, 'release').mockImplementation(trip);
  const { response, text } = await ask('/v1/chat/completions', false);
  expect([response.status, text.includes('tripwire')]).toEqual([200, true]);
  await expectNothingHeld(0);
});

test.each(['finish', 'settle', 'entry', 'release'])(
  'a request whose end cannot be put together has a row all the same: %s',
  async (step) => {
    vi.spyOn(Reservation.prototype as unknown as Record<string, () => never>, step).mockImplementation(trip);
    await ask('/v1/chat/completions', false);
    await expectNothingHeld(0);
    const rows = await gateway.logs();
    expect(rows).toMatchObject([{ quota: 0, end_reason: 'internal', model_name: 'gpt-4o-mini' }]);
    expect(rows[0]).toMatchObject({ user_id: gateway.userId, prompt_tokens: 0, completion_tokens: 0 });
    expect(rows[0]?.token_id).toBeGreaterThan(0);
  },
);

test('an end whose waiting requests cannot be woken is charged and written down', async () => {
  vi.spyOn(MoneyQueue.prototype, 'settled').mockImplementation(trip);
  const { response, text } = await ask('/v1/chat/completions', false);
  expect([response.status, text.includes('tripwire')]).toEqual([200, true]);
  await expectNothingHeld(14);
  expect(await gateway.logs()).toMatchObject([{ quota: 14, end_reason: 'completed' }]);
});

test('a request gets its row although its usual end, the limits and the line of waiting requests throw', async () => {
  vi.spyOn(Reservation.prototype as unknown as Record<string, () => never>, 'settle').mockImplementation(trip);
  vi.spyOn(MoneyQueue.prototype, 'settled').mockImplementation(trip);
  vi.spyOn(unlimited, 'ended').mockImplementation(trip);
  await ask('/v1/chat/completions', false);
  await expectNothingHeld(0);
  expect(await gateway.logs()).toMatchObject([{ quota: 0, end_reason: 'internal' }]);
});

/** What writes to the client, of a response that comes as a stream. */
const tripWrites = (method: 'write' | 'emit', text: string, times: number) => {
  const made = ResponseStream.prototype as unknown as Record<string, (part: string | Uint8Array) => unknown>;
  const before = made[method];
  let left = times;
  vi.spyOn(made, method).mockImplementation(function (this: ResponseStream, part) {
    const isMeant = (typeof part === 'string' ? part : new TextDecoder().decode(part)).includes(text);
    return isMeant && left-- > 0 ? trip() : before?.call(this, part);
  });
};

test('a stream whose first words trip on their way out costs nothing', async () => {
  inPieces = true;
  const { client } = codecFor('gemini-generate');
  const { transform } = client;
  vi.spyOn(client, 'transform').mockImplementation((url) => {
    const made = transform?.(url) ?? null;
    const push = (part: string) => (part.includes('one two') ? trip() : (made?.push(part) ?? part));
    return made === null ? null : { ...made, push, end: () => made.end() };
  });
  const { key } = await gateway.token();
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const response = await gateway.send(key, '/v1beta/models/gpt-4o-mini:streamGenerateContent', { contents });
  const text = await response.text().catch(() => 'broken off');
  expect(text).not.toContain('one two');
  await expectNothingHeld(0);
  expect(await gateway.logs()).toMatchObject([{ quota: 0, end_reason: 'internal' }]);
});

test.each([
  [1, 6, true],
  [Number.POSITIVE_INFINITY, 4, false],
])('words that cannot be written %d times are charged as far as they went out', async (times, tokens, isSent) => {
  inPieces = true;
  tripWrites('write', 'far near', times);
  const { text } = await ask('/v1/messages', true);
  const row = await expectOurs(text, 'internal');
  expect([row?.completion_tokens, text.includes('far near')]).toEqual([tokens, isSent]);
  expect([text.includes('red blue'), text.includes('tripwire')]).toEqual([true, false]);
});

test('an answer that is paid for and then cannot be written is refunded', async () => {
  // The only frame waits for a report of usage that does not come.
  streamed = [chunk({ content: 'one two' }, 'stop'), 'data: [DONE]\n\n'];
  tripWrites('emit', 'one two', 1);
  const { text } = await ask('/v1/chat/completions', true);
  const quotas = (await gateway.logs()).map(({ quota }) => quota);
  expect([quotas.length, Math.max(...quotas) > 0]).toEqual([2, true]);
  expect([text.includes('one two'), text.includes('Internal server error')]).toEqual([false, true]);
  await expectNothingHeld(0);
  expect(await gateway.balance()).toBe(1_000_000_000);
});

test('a bill that trips once the money has moved is written down as it was charged, and the answer goes out', async () => {
  const execute = gateway.ledger.execute.bind(gateway.ledger);
  let tries = 0;
  vi.spyOn(gateway.ledger, 'execute').mockImplementation((command) => (tries++ === 0 ? trip() : execute(command)));
  const { response, text } = await ask('/v1/chat/completions', false);
  expect([response.status, text.includes('tripwire')]).toEqual([200, true]);
  await expectNothingHeld(14);
  expect((await gateway.logs())[0]?.quota).toBe(14);
});

test('limits that trip when a request ends keep no hold', async () => {
  await gateway.option('ModelRequestRateLimitEnabled', 'true');
  await gateway.option('ModelRequestRateLimitCount', '100');
  await gateway.option('ModelRequestRateLimitSuccessCount', '100');
  const enter = Limits.prototype.enter;
  vi.spyOn(Limits.prototype, 'enter').mockImplementation(function (this: Limits, ...entering) {
    const admission = enter.apply(this, entering);
    if (admission !== unlimited) vi.spyOn(admission, 'ended').mockImplementationOnce(trip);
    return admission;
  });
  await ask('/v1/chat/completions', false);
  await expectNothingHeld(0);
});

test('a response that trips behind its bill is refunded', async () => {
  await gateway.channel('http://first.test', { type: 2, models: 'mj_imagine' });
  await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
  answer = { code: 1, description: 'ok', result: 'drawing-1' };
  const { json } = Response;
  vi.spyOn(Response, 'json').mockImplementation((body, init) =>
    init?.status === 200 ? trip() : json.call(Response, body, init),
  );
  const { key } = await gateway.token();
  const request = new Request('http://gateway/mj/submit/imagine', {
    method: 'POST',
    headers: { 'mj-api-secret': `sk-${key}`, 'content-type': 'application/json' },
    body: '{"prompt":"a cat"}',
  });
  const response = await gateway.relay.handle(request, '/mj/submit/imagine', { ip: () => '127.0.0.1' });
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('Internal server error')]);
  const rows = await gateway.logs();
  const refunded = rows.filter(({ content }) => content.includes('50000'));
  expect([rows.some(({ quota }) => quota === 50_000), refunded.length]).toEqual([true, 1]);
  await expectNothingHeld(0);
});

test('an end that trips where it counts requests is counted all the same', async () => {
  vi.spyOn(RelayRequest.prototype, 'over').mockImplementation(trip);
  const { response } = await ask('/v1/chat/completions', false);
  expect(response.status).toBe(200);
  await expectNothingHeld(14);
});

test('a stream that trips before its first step ends with its error', async () => {
  vi.spyOn(IntervalTimers.prototype, 'add').mockImplementation(trip);
  const { text } = await ask('/v1/chat/completions', true);
  const row = await expectOurs(text, 'internal');
  expect(row?.quota).toBe(0);
  vi.restoreAllMocks();
  await expectHealthy('/v1/chat/completions', true);
});

test('a stream that trips while its answer is handed over ends with its error', async () => {
  const { start } = Deadlines.prototype;
  let left = 1;
  vi.spyOn(Deadlines.prototype, 'start').mockImplementation(function (this: Deadlines, ms, expire) {
    const deadline = start.call(this, ms, expire);
    const { end } = deadline;
    deadline.end = () => (ms === gateway.state.settings.pingMs && left-- > 0 ? trip() : end.call(deadline));
    return deadline;
  });
  const { text } = await ask('/v1/chat/completions', true);
  expect(left).toBeLessThan(1);
  const row = await expectOurs(text, 'internal');
  expect(row?.quota).toBe(0);
});

test('a defect while JSON is read is no JSON that cannot be read', () => {
  vi.spyOn(RegExp.prototype, 'test').mockImplementationOnce(trip);
  expect(() => parseExact('{"id":12345678901234567890}')).toThrow(defect);
  expect(parseExact('{"id":12345678901234567890')).toBeUndefined();
});

test('what ends a stream runs once: the runtime has no hand in it, and swallows no error of it', async () => {
  const { client } = codecFor('gemini-generate');
  const { transform } = client;
  let ends = 0;
  vi.spyOn(client, 'transform').mockImplementation((url) => {
    const made = transform?.(url) ?? null;
    return made === null
      ? null
      : { ...made, push: (part) => made.push(part), end: () => (ends++ > 0 ? trip() : made.end()) };
  });
  streamed = frames.filter((frame) => !frame.includes('tripwire'));
  const { key } = await gateway.token();
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const response = await gateway.send(key, '/v1beta/models/gpt-4o-mini:streamGenerateContent', { contents });
  expect(Array.isArray(JSON.parse(await response.text()))).toBe(true);
  expect(ends).toBe(1);
  expect(gateway.defects).toEqual([]);
});
