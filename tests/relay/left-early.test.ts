/** Who leaves before the first byte: what the upstream had taken is paid once, what it had not, or never would have answered, is free. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import type { UpstreamFailure } from '../../server/relay/shared/failure.ts';
import type { UpstreamCall } from '../../server/relay/upstream/call.ts';
import { UpstreamHttp } from '../../server/relay/upstream/http.ts';
import { createTestGateway } from '../support/gateway.ts';
import { silentWave } from '../support/recording-parts.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { completion, sendJson } from '../support/upstream.ts';

let clock = 0;
const now = () => Date.now() + clock;
const { gateway, upstream, key, row } = await sharedGateway({ now, relay: { timers: { ...systemTimers, now } } });

interface Call {
  readonly path?: string;
  readonly body?: unknown;
  /** Requests that the upstream has by then. */
  readonly upstreams?: number;
}
/** What happens between the upstream's request and the client's end, and behind it. */
interface Meanwhile {
  readonly before?: () => void;
  readonly after?: () => void;
}
/** So many milliseconds go by. */
const pass = (ms: number) => () => {
  clock += ms;
};

/** Both make whole units of quota at the prices below: nothing is carried from one test to the next. */
const prompt = 'word '.repeat(1033);
const text = 'word '.repeat(1040);
/** The words, the role and the frame of a chat. */
const promptTokens = 1040;
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] };

/** Sends, waits until the upstream has it, and leaves. @returns the row. */
async function leave(
  { path = '/v1/chat/completions', body = chat, upstreams = 1 }: Call = {},
  { before, after }: Meanwhile = {},
) {
  const client = new AbortController();
  const answered = gateway.send(key, path, body, { signal: client.signal });
  await expect.poll(() => upstream.requests.length, { timeout: 5000, interval: 5 }).toBe(upstreams);
  before?.();
  client.abort();
  after?.();
  await answered;
  return row();
}

/** gpt-4o-mini: 0.075 a token read. */
const owed = 78;

test.each([
  ['a stream', { ...chat, stream: true }],
  ['an answer in one piece', chat],
])('who leaves %s before the first byte pays the prompt, once', async (_name, body) => {
  await gateway.channel(upstream.url);
  await gateway.channel(upstream.url);
  await gateway.option('RetryTimes', '3');
  const before = await gateway.balance();
  const row = await leave({ body });
  expect(row).toMatchObject({
    type: 2,
    end_reason: 'client_gone',
    usage_source: 'estimated',
    prompt_tokens: promptTokens,
    completion_tokens: 0,
    quota: owed,
  });
  expect(JSON.parse(row?.other ?? '')).toMatchObject({ frt: -1000 });
  expect(before - (await gateway.balance())).toBe(owed);
  expect(upstream.requests).toHaveLength(1);
  await gateway.option('RetryTimes', '0');
});

const recording = () => {
  const form = new FormData();
  form.set('file', new File([silentWave(60)], 'a.wav'));
  form.set('model', 'whisper-1');
  return form;
};

test.each([
  ['embeddings', 'text-embedding-3-small', '/v1/embeddings', { input: text }, 13],
  ['pictures by the piece', 'dall-e-3', '/v1/images/generations', { prompt: 'a cat', n: 2 }, 40_000],
  ['pictures by their tokens', 'gpt-image-1', '/v1/images/generations', { prompt: 'a cat', n: 2 }, 249_617],
  ['speech by its letters', 'tts-1', '/v1/audio/speech', { input: 'x'.repeat(1000), voice: 'alloy' }, 7500],
  ['moderations', 'text-moderation-stable', '/v1/moderations', { input: text }, 130],
  ['completions', 'gpt-3.5-turbo-instruct', '/v1/completions', { prompt: text }, 780],
])('%s: the prompt is paid', async (_name, model, path, body, quota) => {
  await gateway.channel(upstream.url, { models: model });
  const row = await leave({ path, body: { model, ...body } });
  expect(row).toMatchObject({ type: 2, end_reason: 'client_gone', quota });
});

test('documents put in order are paid by their words', async () => {
  await gateway.channel(upstream.url, { type: 38 });
  const body = { model: 'gpt-4o-mini', query: 'q', documents: [prompt, prompt] };
  expect(await leave({ path: '/v1/rerank', body })).toMatchObject({ type: 2, end_reason: 'client_gone', quota: 155 });
});

test('a recording that was handed over is paid by its length', async () => {
  await gateway.channel(upstream.url, { models: 'whisper-1' });
  expect(await leave({ path: '/v1/audio/transcriptions', body: recording() })).toMatchObject({
    type: 2,
    end_reason: 'client_gone',
    quota: 15_000,
  });
});

test('a translated answer is paid as well when its client leaves', async () => {
  await gateway.channel(upstream.url, { type: 14 });
  const row = await leave({ body: { ...chat, stream: true } });
  expect(row).toMatchObject({ type: 2, prompt_tokens: promptTokens, end_reason: 'client_gone' });
});

const free = { type: 5, quota: 0 };

test('an upstream that could not be reached costs nothing, although the client leaves meanwhile', async () => {
  await gateway.channel('http://127.0.0.1:1', { setting: '{"drain":true}' });
  const client = new AbortController();
  const answered = gateway.chat(key, chat, {}, client.signal);
  client.abort();
  await answered;
  expect(await gateway.lastLog()).toMatchObject(free);
});

test('an attempt that failed before the client left costs nothing, and the one after it is paid once', async () => {
  await gateway.channel(upstream.url);
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    if (upstream.requests.length === 1) sendJson(response, { error: { message: 'busy' } }, 503);
  });
  expect(await leave({ upstreams: 2 })).toMatchObject({ type: 2, quota: owed, prompt_tokens: promptTokens });
});

test('an upstream that refuses before the client leaves costs nothing', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  const client = new AbortController();
  await gateway.chat(key, chat, {}, client.signal);
  client.abort();
  expect(await gateway.lastLog()).toMatchObject(free);
});

test.each<readonly [string, (response: ServerResponse) => unknown]>([
  ['refuses', (response) => sendJson(response, { error: { message: 'no' } }, 429)],
  ['drops the call', (response) => response.destroy()],
])('an upstream that is read on and %s after the client left costs nothing', async (_name, fails) => {
  await gateway.channel(upstream.url, { setting: '{"drain":true}' });
  const { promise: left, resolve: after } = Promise.withResolvers<void>();
  upstream.script((response) => void left.then(() => fails(response)));
  expect(await leave({}, { after })).toMatchObject({ ...free, end_reason: 'client_gone' });
});

test('an upstream that is read on and never answers is paid the prompt', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":0.05}' });
  expect(await leave()).toMatchObject({ type: 2, quota: owed });
});

test('the time after the client left does not make an upstream hang', async () => {
  await gateway.channel(upstream.url, { setting: '{"drain":0.1}' });
  expect(await leave({}, { after: pass(40_000) })).toMatchObject({ type: 2, quota: owed });
});

test('a connection that fails while its client leaves costs nothing', async () => {
  const calling = Promise.withResolvers<void>();
  const refusing = await createTestGateway({
    upstreamFetch: ((_url: string, { signal }: { signal: AbortSignal }) =>
      new Promise((_, fail) => {
        const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
        signal.addEventListener('abort', () => fail(refused));
        calling.resolve();
      })) as never,
  });
  await refusing.channel('http://127.0.0.1:1');
  const client = new AbortController();
  const answered = refusing.chat((await refusing.token()).key, chat, {}, client.signal);
  await calling.promise;
  client.abort();
  await answered;
  expect(await refusing.lastLog()).toMatchObject(free);
  await refusing.close();
});

test('a client that breaks off while the request is read pays nothing', async () => {
  await gateway.channel(upstream.url);
  const before = await gateway.balance();
  const half = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(Buffer.from(JSON.stringify(chat).slice(0, 100)));
      controller.error(new Error('gone'));
    },
  });
  const request = new Request('http://gateway/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: half,
    duplex: 'half',
  } as RequestInit);
  expect(
    (await gateway.relay.handle(request, '/v1/chat/completions', { ip: () => '127.0.0.1' })).status,
  ).toBeGreaterThanOrEqual(400);
  expect(upstream.requests).toHaveLength(0);
  expect(await gateway.balance()).toBe(before);
});

test('a drawing that was ordered is made and paid, whether its client waits or not', async () => {
  await gateway.channel(upstream.url, { type: providerBySlug('midjourney')?.type, models: 'mj_imagine' });
  await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
  const before = await gateway.balance();
  const { promise: left, resolve: after } = Promise.withResolvers<void>();
  upstream.script((response) => void left.then(() => sendJson(response, { code: 1, description: 'ok', result: 'mj' })));
  await leave({ path: '/mj/submit/imagine', body: { prompt: 'a cat' } }, { after });
  expect(before - (await gateway.balance())).toBe(50_000);
});

test('a client that leaves before anything was sent pays nothing', async () => {
  await gateway.channel(upstream.url);
  const client = new AbortController();
  client.abort();
  await gateway.chat(key, chat, {}, client.signal);
  expect(upstream.requests).toHaveLength(0);
  expect(await gateway.lastLog()).toMatchObject(free);
});

test('a client that leaves in the middle of an upload pays nothing', async () => {
  await gateway.channel(upstream.url, { models: 'whisper-1' });
  const client = new AbortController();
  const head =
    '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
  const pieces = [Buffer.from(head), new Uint8Array(9 * 1024 * 1024)];
  const sending = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces.shift();
        if (piece !== undefined) return controller.enqueue(new Uint8Array(piece));
        // The rest is asked for.
        sending.resolve();
        return new Promise((_, fail) => client.signal.addEventListener('abort', () => fail(new Error('gone'))));
      },
    },
    { highWaterMark: 0 },
  );
  const answered = gateway.relay.handle(
    new Request('http://gateway/v1/audio/transcriptions', {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'multipart/form-data; boundary=b' },
      body,
      signal: client.signal,
      duplex: 'half',
    } as RequestInit),
    '/v1/audio/transcriptions',
    { ip: () => '127.0.0.1' },
  );
  await sending.promise;
  client.abort();
  await answered;
  expect(await gateway.lastLog()).toMatchObject(free);
});

test('a request that we end costs nothing, also where its client leaves then', async () => {
  await gateway.channel(upstream.url);
  expect(await leave({}, { before: () => gateway.relay.cut(new AppError('shutting_down')) })).toMatchObject(free);
});

test('the owner who uses it alone is not charged for leaving', async () => {
  await gateway.channel(upstream.url);
  await gateway.option('SelfUseModeEnabled', 'true');
  const before = await gateway.balance();
  await leave();
  expect(await gateway.balance()).toBe(before);
  await gateway.option('SelfUseModeEnabled', 'false');
});

test('an upstream that hangs for longer than 30 s costs nothing, one second less costs the prompt', async () => {
  await gateway.channel(upstream.url);
  expect(await leave({}, { before: pass(29_000) })).toMatchObject({ type: 2, quota: owed });
  expect(await leave({ upstreams: 2 }, { before: pass(30_500) })).toMatchObject({ ...free, end_reason: 'client_gone' });
});

test('a model that usually takes long is waited for twice as long as usual', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    clock += 40_000;
    sendJson(response, completion(11, 2));
  });
  expect((await gateway.chat(key, chat)).status).toBe(200);
  upstream.script(() => undefined);
  expect(await leave({ upstreams: 2 }, { before: pass(75_000) })).toMatchObject({ type: 2, quota: owed });
  // What streams take is another matter.
  expect(await leave({ upstreams: 3, body: { ...chat, stream: true } }, { before: pass(75_000) })).toMatchObject(free);
  expect(await leave({ upstreams: 4 }, { before: pass(90_000) })).toMatchObject(free);
});

test('a call that was ended before it was made was not sent', async () => {
  const dispatched = async (early: boolean) => {
    const abort = new AbortController();
    if (early) abort.abort();
    const asked = Promise.withResolvers<void>();
    const { dispatch } = new UpstreamHttp({
      now: Date.now,
      deadlines: new Deadlines(systemTimers),
      headersTimeoutMs: 60_000,
      fetch: ((_url: string, { signal }: { signal: AbortSignal }) => {
        asked.resolve();
        if (signal.aborted) return Promise.reject(signal.reason);
        return new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
      }) as never,
    });
    const channel = { id: 1, keys: [], baseUrl: '', setting: {} };
    const call = { url: 'http://127.0.0.1:1/', headers: {}, body: '{}', channel } as unknown as UpstreamCall;
    const answer = dispatch(call, abort);
    await asked.promise;
    abort.abort();
    const { failure } = (await answer) as { failure: UpstreamFailure };
    return failure.sent === true;
  };
  expect(await dispatched(true)).toBe(false);
  expect(await dispatched(false)).toBe(true);
});
