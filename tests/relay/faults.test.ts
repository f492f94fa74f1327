import type { ServerResponse } from 'node:http';
import { afterAll, expect, test, vi } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { context, encoder, meaning, readStream, streamOf } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { heardOf } from '../support/heard.ts';
import { inShare } from '../support/often.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const secret = 'sk-upstream-secret-key';
const answer = scenarios['plain text'] ?? [];

interface Scene {
  readonly gateway: TestGateway;
  readonly upstream: Upstream;
  readonly userId: number;
  readonly key: string;
  /** Served by this scene's upstream alone. */
  readonly model: string;
  /** Not before what was written was read: a reset overtakes whatever is still on its way. */
  readonly resetOnceRead: (response: ServerResponse) => void;
}

/** For upstreams that answer: a busy machine is no silence. */
const patient = 60_000;
const impatient = 600;

/** Address of an upstream -> called when the gateway has read something of what it sent. */
const readFrom = new Map<string, () => void>();
const watchedFetch = (async (...requested: Parameters<typeof fetch>): Promise<Response> => {
  const response = await fetch(...requested);
  const read = readFrom.get(new URL(response.url).origin);
  const received = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, through) {
      through.enqueue(chunk);
      read?.();
    },
  });
  return new Response(response.body?.pipeThrough(received) ?? null, response);
}) as typeof fetch;

/** Models of as many scenes as a gateway may have. */
const prices = JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`m${index}`, 1])));

/** @param timeoutMs how long an upstream may be silent. */
async function openGateway(timeoutMs: number, watched: boolean): Promise<TestGateway> {
  const gateway = await createTestGateway({
    limits: { headersTimeoutMs: timeoutMs, idleMs: timeoutMs },
    ...(watched ? { upstreamFetch: watchedFetch } : {}),
  });
  await gateway.option('ModelRatio', prices);
  return gateway;
}

let scenes = 0;

/** In a gateway that others use too, a scene has a user, a key, a model and an upstream of its own. */
async function playIn(gateway: TestGateway, play: (scene: Scene) => Promise<void>): Promise<void> {
  const model = `m${++scenes}`;
  const upstream = await startUpstream(() => undefined);
  const read = Promise.withResolvers<void>();
  readFrom.set(upstream.url, () => read.resolve());
  try {
    const userId = await gateway.services.users.create({
      ...{ username: model, password: 'password1', displayName: '', role: 1, quota: 1_000_000_000 },
    });
    const { key } = await gateway.services.tokens.create(userId, { name: 't', unlimited_quota: true });
    await gateway.channel(upstream.url, { type: 199, models: model });
    const resetOnceRead = (response: ServerResponse) =>
      void read.promise.then(() => setImmediate(() => response.destroy()));
    await play({ gateway, upstream, userId, key, model, resetOnceRead });
  } finally {
    readFrom.delete(upstream.url);
    await upstream.stop();
  }
}

/** One gateway for all scenes with the same patience. */
const gateways = new Map<string, Promise<TestGateway>>();
async function within(timeoutMs: number, play: (scene: Scene) => Promise<void>, watched = false): Promise<void> {
  const name = `${timeoutMs} ${watched}`;
  let gateway = gateways.get(name);
  if (gateway === undefined) {
    gateway = openGateway(timeoutMs, watched);
    gateways.set(name, gateway);
  }
  await playIn(await gateway, play);
}
afterAll(async () => {
  for (const opened of gateways.values()) {
    const gateway = await opened;
    expect(gateway.relay.open()).toBe(0);
    expect(await gateway.verify()).toEqual([]);
    await gateway.close();
  }
});

const logsOf = async ({ gateway, userId }: Scene) => {
  await gateway.ledger.drain();
  return (await gateway.services.logs.page({ userId }, 1, 100, true)).items;
};
const balanceOf = async ({ gateway, userId }: Scene): Promise<number> => {
  await gateway.ledger.drain();
  return (await gateway.services.users.find(userId))?.balance ?? 0;
};
/** Nothing is held for a request any more. */
const expectReleased = async (scene: Scene): Promise<void> =>
  expect(scene.gateway.balances.account(scene.userId, 0).available()).toBe(await balanceOf(scene));

const requests: Readonly<Record<ProtocolId, (stream: boolean, model: string) => { path: string; body: unknown }>> = {
  'openai-chat': (stream, model) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      stream,
      messages: [{ role: 'user', content: 'hi' }],
      stream_options: { include_usage: true },
    },
  }),
  'openai-responses': (stream, model) => ({ path: '/v1/responses', body: { model, stream, input: 'hi' } }),
  'anthropic-messages': (stream, model) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'gemini-generate': (stream, model) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    body: { contents: [{ parts: [{ text: 'hi' }] }] },
  }),
  'ollama-chat': (stream, model) => ({
    path: '/api/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'cohere-chat': (stream, model) => ({
    path: '/v2/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
};

async function ask({ gateway, key, model }: Scene, dialect: ProtocolId, stream: boolean) {
  const { path, body } = requests[dialect](stream, model);
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}?alt=sse`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  const { text } = await heardOf(response);
  return { status: response.status, text, headers: response.headers };
}

/** In the dialect's own form, whatever that is. */
const reportsError = (dialect: ProtocolId, text: string) =>
  expect(codecs[dialect].upstream.decodeError(500, text).message).toMatch(/request id/);

interface Fault {
  readonly play: (response: ServerResponse, dialect: ProtocolId, stream: boolean, scene: Scene) => unknown;
  /** Status the client sees. */
  readonly status: number;
  readonly only?: 'stream' | 'whole';
  /** Dialects that have such a thing; absent = all. */
  readonly dialects?: readonly ProtocolId[];
  /** Words came as events before it went wrong: streamed on, or gathered in vain for a client that wants one piece. */
  readonly partly?: true;
  /** The answer is good after all. */
  readonly good?: true;
  /** It ends by the limit of silence alone. */
  readonly silent?: true;
  /** It goes on when the gateway has read its beginning. */
  readonly watched?: true;
}

const errorOf = (dialect: ProtocolId, status: number) => ({
  ...(codecs[dialect].client.encodeError({
    status,
    type: status === 429 ? 'rate_limit_error' : 'api_error',
    code: 'boom',
    message: `failed at http://10.1.2.3:8080/v1 with ${secret}`,
    requestId: 'up',
  }) as object),
});
const fails = (status: number, clientStatus: number, headers: Record<string, string> = {}): Fault => ({
  play: (response, dialect) => sendJson(response, errorOf(dialect, status), status, headers),
  status: clientStatus,
});
const framesOf = (dialect: ProtocolId): string[] =>
  streamOf(codecs[dialect], answer)
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => `${frame}\n\n`);
const startStream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const wordsOf = (dialect: ProtocolId): string => {
  const frames = framesOf(dialect);
  return frames.slice(0, frames.findIndex((frame) => frame.includes('world')) + 1).join('');
};
const bodyOf = (dialect: ProtocolId): Record<string, unknown> =>
  codecs[dialect].translation.encodeResponse(answer, context) as Record<string, unknown>;

/** More than a frame may have. */
const packed = Bun.gzipSync(Buffer.alloc(20 * 1024 * 1024));

const faults: Readonly<Record<string, Fault>> = {
  'reset before the first byte': { play: (response) => response.destroy(), status: 502 },
  'no headers in time': { play: () => undefined, status: 504, silent: true },
  'a stream that says nothing': {
    play: (response) => startStream(response).flushHeaders(),
    status: 504,
    silent: true,
    only: 'stream',
  },
  '401': fails(401, 400),
  '403': fails(403, 400),
  '429 with Retry-After': fails(429, 429, { 'retry-after': '7' }),
  '500': fails(500, 502),
  '529': fails(529, 529),
  'a page of HTML': {
    play: (response) => {
      response.writeHead(503, { 'content-type': 'text/html' });
      response.end(`<html>${secret} at http://10.1.2.3</html>`);
    },
    status: 502,
  },
  'HTML with status 200': {
    play: (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>welcome</html>');
    },
    status: 502,
  },
  'an empty answer': {
    play: (response, dialect, stream) => {
      if (!stream) return sendJson(response, {});
      startStream(response);
      response.end(dialect === 'openai-chat' ? 'data: [DONE]\n\n' : '');
    },
    status: 502,
  },
  'reset after words': {
    play: (response, dialect, _stream, { resetOnceRead }) => {
      startStream(response);
      response.write(wordsOf(dialect));
      resetOnceRead(response);
    },
    watched: true,
    status: 200,
    partly: true,
  },
  'cut after words': {
    play: (response, dialect) => {
      startStream(response);
      response.end(wordsOf(dialect));
    },
    status: 200,
    partly: true,
  },
  'silence after words': {
    play: (response, dialect) => {
      startStream(response);
      response.write(wordsOf(dialect));
    },
    silent: true,
    status: 200,
    partly: true,
  },
  'an error after words': {
    play: (response, dialect) => {
      startStream(response);
      const error = { status: 500, type: 'x', code: 'x', message: `${secret} at http://10.1.2.3`, requestId: 'up' };
      response.end(wordsOf(dialect) + codecs[dialect].client.encodeStreamError(error));
    },
    status: 200,
    partly: true,
  },
  'a giant line': {
    play: (response, dialect) => {
      startStream(response);
      response.write(wordsOf(dialect));
      const line = Buffer.alloc(1024 * 1024, 97);
      for (let n = 0; n < 18; n++) response.write(line);
    },
    status: 200,
    partly: true,
  },
  'the end twice': {
    play: (response, dialect) => {
      const frames = framesOf(dialect);
      startStream(response);
      response.end(frames.join('') + (frames.at(-1) ?? ''));
    },
    status: 200,
    good: true,
  },
  'no last frame': {
    play: (response, dialect) => {
      startStream(response);
      response.end(framesOf(dialect).slice(0, -1).join(''));
    },
    status: 200,
    good: true,
    // The others say in their last frame why they stopped.
    dialects: ['openai-chat', 'anthropic-messages'],
  },
  'no blank line at the end': {
    play: (response, dialect) => {
      startStream(response);
      response.end(framesOf(dialect).join('').trimEnd());
    },
    status: 200,
    good: true,
  },
  'compressed bytes without a request for them': {
    play: (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(packed);
    },
    status: 502,
    only: 'whole',
  },
  'reset inside of the body': {
    play: (response, dialect, _stream, { resetOnceRead }) => {
      const body = JSON.stringify(bodyOf(dialect));
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(body.length) });
      response.write(body.slice(0, body.length / 2));
      resetOnceRead(response);
    },
    watched: true,
    status: 502,
  },
  'a body cut short': {
    play: (response, dialect) => {
      const body = JSON.stringify(bodyOf(dialect));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(body.slice(0, body.length / 2));
    },
    status: 502,
  },
  'silence inside of the body': {
    play: (response, dialect) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' });
      response.write(JSON.stringify(bodyOf(dialect)).slice(0, 40));
    },
    silent: true,
    status: 504,
  },
  'silence inside of a body without a length': {
    play: (response, dialect) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(JSON.stringify(bodyOf(dialect)).slice(0, 40));
    },
    silent: true,
    status: 504,
  },
  'an error that never ends': {
    play: (response) => {
      response.writeHead(500, { 'content-type': 'application/json', 'content-length': '100000' });
      response.write(`{"error":{"message":"${secret} at http://10.1.2.3`);
    },
    silent: true,
    status: 502,
  },
  'a stream of compressed bytes': {
    play: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(packed);
    },
    status: 502,
  },
};

const cases = Object.entries(faults).flatMap(([name, error], at) =>
  (error.dialects ?? dialects).flatMap((dialect, of) =>
    [true, false]
      .filter((stream) => error.only === undefined || (error.only === 'stream') === stream)
      .filter((stream) => inShare(at + (stream ? 1 : 0), of))
      .map((stream) => [name, dialect, stream ? 'streamed' : 'whole', error] as const),
  ),
);

// Most of them wait.
test.concurrent.each(cases)('%s: %s, %s', async (_name, dialect, form, error) => {
  const judge = async (scene: Scene) => {
    const { upstream } = scene;
    const stream = form === 'streamed';
    upstream.script((response) => void error.play(response, dialect, stream, scene));
    const before = await balanceOf(scene);
    const { status, text, headers } = await ask(scene, dialect, stream);
    const inVain = error.partly === true && !stream;
    // Only one dialect knows this status.
    const expectedStatus = error.status === 529 && dialect !== 'anthropic-messages' ? 503 : error.status;
    expect(status).toBe(inVain ? 502 : expectedStatus);
    for (const hidden of [secret, '10.1.2.3', upstream.url.slice(7)]) expect(text).not.toContain(hidden);
    const [log, ...others] = await logsOf(scene);
    expect(others).toEqual([]);
    const paid = before - (await balanceOf(scene));
    const ends = stream && status === 200 ? readStream(codecs[dialect], encoder.encode(text)) : [];
    if (error.good) {
      expect(log).toMatchObject({ type: 2, end_reason: 'completed', usage_source: 'reported', quota: paid });
      const events = stream ? ends : codecs[dialect].upstream.decodeResponse(JSON.parse(text));
      // What it cost may be reported behind the end.
      expect(events.findLast(({ type }) => type !== 'usage')?.type).toBe('finish');
      expect(meaning(events).text).toBe('Hello, world');
    } else if (inVain) {
      // The client has none of the words: only what the upstream reported is charged.
      reportsError(dialect, text);
      expect(text).not.toContain('world');
      expect(log).toMatchObject({ end_reason: 'upstream_broken', quota: paid });
      if (log?.type === 5) expect(paid).toBe(0);
      else expect(log).toMatchObject({ type: 2, usage_source: 'partial' });
    } else if (error.partly) {
      expect(text).toContain('world');
      expect(ends.at(-1)?.type).toBe('error');
      expect(log).toMatchObject({ type: 2, end_reason: 'upstream_broken', quota: paid });
      expect(paid).toBeGreaterThan(0);
    } else {
      reportsError(dialect, text);
      expect(log).toMatchObject({ type: 5, quota: 0, end_reason: 'upstream_failed' });
      expect(paid).toBe(0);
    }
    if (error.status === 429) expect(headers.get('retry-after')).toBe('7');
    await expectReleased(scene);
    await vi.waitFor(() => expect(upstream.requests.every(({ closed }) => closed)).toBe(true), { timeout: patient });
  };
  await within(error.silent === true ? impatient : patient, judge, error.watched);
});

const absurd: readonly unknown[] = [undefined, null, -5, 1e300, 'NaN', {}, []];
/** The same JSON with every count in its usage replaced. */
const absurdIn = (text: string, value: unknown): string =>
  JSON.stringify(JSON.parse(text), (name, member: unknown) => {
    if (name === 'prompt_eval_count' || name === 'eval_count') return value;
    return (name === 'usage' || name === 'usageMetadata') && typeof member === 'object' && member !== null
      ? Object.fromEntries(Object.keys(member).map((count) => [count, value]))
      : member;
  });
test.concurrent.each(
  dialects.flatMap((dialect) =>
    absurd.flatMap((value) => ['streamed', 'whole'].map((form) => [dialect, value, form] as const)),
  ),
)('%s: usage of %j is counted locally, %s', async (dialect, value, form) => {
  const stream = form === 'streamed';
  await within(patient, async (scene) => {
    const { upstream } = scene;
    upstream.script((response) => {
      if (!stream) return sendJson(response, JSON.parse(absurdIn(JSON.stringify(bodyOf(dialect)), value)));
      startStream(response);
      response.end(
        framesOf(dialect)
          .join('')
          .replace(/(?<=^data: )\{.*$/gm, (data) => absurdIn(data, value)),
      );
    });
    const before = await balanceOf(scene);
    const { status } = await ask(scene, dialect, stream);
    expect(status).toBe(200);
    const [log, ...others] = await logsOf(scene);
    expect(others).toEqual([]);
    expect(log).toMatchObject({ usage_source: 'estimated', end_reason: 'completed' });
    expect(log?.quota).toBeGreaterThan(0);
    expect(log?.quota).toBeLessThan(100);
    expect(before - (await balanceOf(scene))).toBe(log?.quota);
    await expectReleased(scene);
  });
});

test.concurrent.each(dialects.flatMap((dialect) => [true, false].map((stream) => [dialect, stream] as const)))(
  '%s: the port is closed, stream %j',
  async (dialect, stream) => {
    await within(patient, async (scene) => {
      const { upstream } = scene;
      await upstream.stop();
      const { status, text } = await ask(scene, dialect, stream);
      expect(status).toBe(502);
      reportsError(dialect, text);
      expect(text).not.toContain('127.0.0.1');
      const [log, ...others] = await logsOf(scene);
      expect(others).toEqual([]);
      expect(log).toMatchObject({ type: 5, quota: 0, end_reason: 'upstream_failed' });
      await expectReleased(scene);
    });
  },
);

test.concurrent.each([
  'no headers in time',
  'silence inside of the body',
  'an error that never ends',
  'a stream that says nothing',
])('%s: the next channel answers', async (name) => {
  const stream = name.includes('stream');
  const gateway = await openGateway(impatient, false);
  await playIn(gateway, async (scene) => {
    const { upstream, model } = scene;
    const second = await startUpstream((response) => {
      if (!stream) return sendJson(response, bodyOf('openai-chat'));
      startStream(response);
      response.end(framesOf('openai-chat').join(''));
    });
    await gateway.channel(second.url, { type: 199, models: model, priority: -1 });
    await gateway.option('RetryTimes', '1');
    upstream.script((response) => void faults[name]?.play(response, 'openai-chat', stream, scene));
    const { status, text } = await ask(scene, 'openai-chat', stream);
    expect([status, text.includes('world')]).toEqual([200, true]);
    expect([upstream.requests.length, second.requests.length]).toEqual([1, 1]);
    const [log, ...others] = await logsOf(scene);
    expect([log?.type, log?.end_reason, others]).toEqual([2, 'completed', []]);
    await vi.waitFor(() => expect(upstream.requests[0]?.closed).toBe(true), { timeout: patient });
    await second.stop();
  });
  await gateway.close();
});

test('sound that breaks off ends as broken for the client too, and what came is paid for', async () => {
  await within(
    patient,
    async (scene) => {
      const { gateway, upstream, key, model, resetOnceRead } = scene;
      upstream.script((response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg' });
        response.write(Buffer.alloc(1000, 0xff));
        resetOnceRead(response);
      });
      const request = new Request('http://gateway/v1/audio/speech', {
        method: 'POST',
        headers: { authorization: `Bearer sk-${key}` },
        body: JSON.stringify({ model, input: 'hello', voice: 'alloy' }),
      });
      const response = await gateway.relay.handle(request, '/v1/audio/speech', { ip: () => '127.0.0.1' });
      expect(response.status).toBe(200);
      await expect(response.arrayBuffer()).rejects.toThrow();
      const [log] = await logsOf(scene);
      expect(log).toMatchObject({ type: 2, end_reason: 'upstream_broken', prompt_tokens: 5 });
      expect(JSON.parse(log?.other ?? '{}')).toMatchObject({ failure: 'broken' });
    },
    true,
  );
});
