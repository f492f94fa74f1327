/** Streams of pictures, speech and transcripts: passed on as they come, ended by their own event, paid as reported or as ordered. */
import { expect, test } from 'vitest';
import { operationEvents } from '../../server/protocols/openai-chat/operation-events.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { createTestGateway } from '../support/gateway.ts';
import { silentWave } from '../support/recording-parts.ts';
import { sharedGateway } from '../support/shared-gateway.ts';

const { gateway, upstream, key, row } = await sharedGateway({ limits: { billMs: 300 } });
await gateway.option('RetryTimes', '3');

type Body = Record<string, unknown>;
const event = (type: string, more: Body = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const done = 'data: [DONE]\n\n';
const picture = Buffer.alloc(3000, 7).toString('base64');
const usage = { input_tokens: 50, output_tokens: 4000, total_tokens: 4050 };

interface Operation {
  readonly path: string;
  readonly model: string;
  readonly body: Body | FormData;
  /** What the upstream sends before it ends. */
  readonly begin: string;
  readonly end: (more?: Body) => string;
}

const form = (fields: Readonly<Record<string, string | File>>) => {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
};
const wave = () => new File([silentWave(60)], 'a.wav');

const operations: Readonly<Record<string, Operation>> = {
  pictures: {
    path: '/v1/images/generations',
    model: 'gpt-image-1',
    body: { prompt: 'a cat', stream: true, partial_images: 2 },
    begin:
      event('image_generation.partial_image', { b64_json: picture, partial_image_index: 0 }) +
      event('image_generation.partial_image', { b64_json: picture, partial_image_index: 1 }),
    end: (more) => event('image_generation.completed', { b64_json: picture, ...more }),
  },
  edits: {
    path: '/v1/images/edits',
    model: 'gpt-image-1',
    body: form({ prompt: 'a cat', stream: 'true', image: new File([new Uint8Array(100)], 'a.png') }),
    begin: event('image_edit.partial_image', { b64_json: picture, partial_image_index: 0 }),
    end: (more) => event('image_edit.completed', { b64_json: picture, ...more }),
  },
  'several pictures by their addresses': {
    path: '/v1/images/generations',
    model: 'gpt-image-1',
    body: { prompt: 'cats', stream: true, n: 2 },
    begin:
      event('image_generation.partial_succeeded', { image_index: 0, url: 'https://cats.example/1.png' }) +
      event('image_generation.partial_succeeded', { image_index: 1, url: 'https://cats.example/2.png' }),
    end: (more) => event('image_generation.completed', more),
  },
  speech: {
    path: '/v1/audio/speech',
    model: 'tts-1',
    body: { input: 'hello', voice: 'alloy', stream_format: 'sse' },
    begin: event('speech.audio.delta', { audio: picture }),
    end: (more) => event('speech.audio.done', more),
  },
  transcripts: {
    path: '/v1/audio/transcriptions',
    model: 'whisper-1',
    body: form({ file: wave(), stream: 'true' }),
    begin: event('transcript.text.delta', { delta: 'hello' }),
    end: (more) => event('transcript.text.done', { text: 'hello', ...more }),
  },
  'transcripts in other words': {
    path: '/v1/audio/transcriptions',
    model: 'whisper-1',
    body: form({ file: wave(), stream: 'true' }),
    begin:
      event('transcription.language', { audio_language: 'en' }) + event('transcription.text.delta', { text: 'hi' }),
    end: (more) => event('transcription.done', { text: 'hi', ...more }),
  },
};

function ask({ path, model, body }: Operation, signal?: AbortSignal): Promise<Response> {
  if (body instanceof FormData) body.set('model', model);
  return gateway.send(key, path, body instanceof FormData ? body : { ...body, model }, { signal });
}

/** The upstream's side of one stream, played by hand. */
function playing(type = 'text/event-stream') {
  const { promise, resolve } = Promise.withResolvers<{ write(text: string): unknown; end(text?: string): unknown }>();
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': type });
    response.flushHeaders();
    resolve(response);
  });
  return promise;
}

/** Reads what comes, as far as anybody looks. */
function reading(response: Response) {
  let received = '';
  const over = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) received += decoder.decode(piece);
  })().catch(() => undefined);
  return { text: () => received, over };
}

const channels = async (model: string) => {
  await gateway.channel(upstream.url, { models: model });
  await gateway.channel(upstream.url, { models: model });
};

test.each(Object.entries(operations))(
  '%s: what comes is passed on at once, and the last event ends it',
  async (_name, one) => {
    await channels(one.model);
    const stream = playing();
    const asked = ask(one);
    const up = await stream;
    up.write(one.begin);
    const response = await asked;
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const { text, over } = reading(response);
    await expect.poll(text).toBe(one.begin);
    up.end(one.end({ usage }));
    await over;
    expect(text()).toBe(one.begin + one.end({ usage }));
    expect(await row()).toMatchObject({
      type: 2,
      end_reason: 'completed',
      usage_source: 'reported',
      prompt_tokens: 50,
      completion_tokens: 4000,
    });
    expect(upstream.requests).toHaveLength(1);
  },
);

test.each(Object.entries(operations))(
  '%s: an end mark behind the last event is passed on as well',
  async (_name, one) => {
    await channels(one.model);
    const stream = playing();
    const asked = ask(one);
    (await stream).end(one.begin + one.end({ usage }) + done);
    expect(await (await asked).text()).toBe(one.begin + one.end({ usage }) + done);
    expect(await row()).toMatchObject({ end_reason: 'completed', completion_tokens: 4000 });
  },
);

test('an upstream that stays connected behind the last event is not waited for', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const stream = playing();
  const asked = ask(one);
  (await stream).write(one.begin + one.end({ usage }));
  expect(await (await asked).text()).toBe(one.begin + one.end({ usage }));
  expect(await row()).toMatchObject({ end_reason: 'completed', completion_tokens: 4000 });
});

test('the last event alone is an answer', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const stream = playing();
  const asked = ask(one);
  (await stream).end(one.end({ usage }));
  expect(await (await asked).text()).toBe(one.end({ usage }));
  expect(await row()).toMatchObject({ end_reason: 'completed', completion_tokens: 4000 });
});

test('a transcript of silence is an answer', async () => {
  const one = operations.transcripts as Operation;
  await channels(one.model);
  const stream = playing();
  const asked = ask(one);
  (await stream).end(event('transcript.text.done', { text: '' }));
  expect(await (await asked).text()).toContain('transcript.text.done');
  expect(await row()).toMatchObject({ type: 2, end_reason: 'completed', prompt_tokens: 1000 });
  expect(upstream.requests).toHaveLength(1);
});

/** Leaves as soon as it has got so much. */
async function leaving(one: Operation, received: string): Promise<void> {
  const client = new AbortController();
  const stream = playing();
  const asked = ask(one, client.signal);
  (await stream).write(received);
  const { text, over } = reading(await asked);
  await expect.poll(text).toBe(received);
  client.abort();
  await over;
}

/** gpt-image-1 at 2.5 times a token read, eight times that a token written, 6,240 tokens for a fine picture. */
const finest = 2.5 * 8 * 6240;

test('a client that leaves at a draft of a picture pays the picture, by its tokens where no bill comes', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  await leaving(one, one.begin);
  const log = await row();
  expect(log).toMatchObject({ type: 2, end_reason: 'client_gone', usage_source: 'estimated', completion_tokens: 6240 });
  expect(log?.quota).toBeGreaterThanOrEqual(finest);
  expect(log?.quota).toBeLessThan(finest + 100);
  expect(upstream.requests).toHaveLength(1);
});

test('an order is paid whole when its client leaves', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  await leaving({ ...one, body: { ...(one.body as Body), n: 3 } }, one.begin);
  expect((await row())?.completion_tokens).toBe(3 * 6240);
});

test('pictures with a price are paid by the piece, whether their client waits or not', async () => {
  const one: Operation = { ...(operations.pictures as Operation), model: 'dall-e-3' };
  await channels(one.model);
  await leaving(one, one.begin);
  expect((await row())?.quota).toBe(20_000);
  await leaving({ ...one, body: { ...(one.body as Body), n: 3 } }, one.begin);
  expect((await row())?.quota).toBe(60_000);
  const stream = playing();
  const asked = ask({ ...one, body: { ...(one.body as Body), n: 2 } });
  (await stream).end(one.begin + one.end() + one.end());
  await (await asked).text();
  expect(await row()).toMatchObject({ quota: 40_000, end_reason: 'completed' });
});

test('a bill that comes soon after the client left is the bill', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const client = new AbortController();
  const stream = playing();
  const asked = ask(one, client.signal);
  const up = await stream;
  up.write(one.begin);
  const { text, over } = reading(await asked);
  await expect.poll(text).toBe(one.begin);
  client.abort();
  up.end(one.end({ usage }));
  await over;
  expect(await row()).toMatchObject({
    end_reason: 'client_gone',
    usage_source: 'reported',
    prompt_tokens: 50,
    completion_tokens: 4000,
  });
});

test('a client that leaves after the bill of one of several pictures pays for all that were ordered', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  await leaving({ ...one, body: { ...(one.body as Body), n: 4 } }, one.end({ usage }));
  expect(await row()).toMatchObject({
    end_reason: 'client_gone',
    usage_source: 'partial',
    prompt_tokens: 50,
    completion_tokens: 4 * 6240,
  });
});

test('an upstream that makes fewer pictures than were ordered is paid what it reports', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const stream = playing();
  const asked = ask({ ...one, body: { ...(one.body as Body), n: 4 } });
  (await stream).end(one.end({ usage }));
  expect(await (await asked).text()).toBe(one.end({ usage }));
  expect(await row()).toMatchObject({ end_reason: 'completed', usage_source: 'reported', completion_tokens: 4000 });
});

test('a stream of pictures is over with the last that was ordered, or with the event for all', () => {
  const kindsOf = (ordered: number, ...types: readonly string[]) => {
    const reader = operationEvents(codecs['openai-chat'].upstream, ordered).reader();
    return types.map((type) => {
      const error = type === 'partial_failed' ? { error: { code: 'sensitive', message: 'no' } } : {};
      const made = type === 'end' ? {} : { b64_json: picture };
      const name = `image_generation.${type === 'end' ? 'completed' : type}`;
      reader.feed({ event: name, data: JSON.stringify({ type: name, ...made, ...error }) });
      return [reader.frameKind, reader.progress];
    });
  };
  const going = ['plain', 'going'];
  const over = ['complete', 'stopped'];
  expect(kindsOf(1, 'partial_image', 'completed')).toEqual([going, over]);
  expect(kindsOf(2, 'completed', 'partial_image', 'completed')).toEqual([going, going, over]);
  expect(kindsOf(2, 'partial_failed', 'completed')).toEqual([going, over]);
  expect(kindsOf(3, 'partial_succeeded', 'end')).toEqual([going, over]);
});

test('each of several pictures reports what it cost, and the sum is paid', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const stream = playing();
  const asked = ask({ ...one, body: { ...(one.body as Body), n: 2 } });
  const sent = one.begin + one.end({ usage }) + one.begin + one.end({ usage });
  (await stream).end(sent);
  expect(await (await asked).text()).toBe(sent);
  expect(await row()).toMatchObject({ prompt_tokens: 100, completion_tokens: 8000, end_reason: 'completed' });
});

test('a picture that failed is not paid', async () => {
  const one: Operation = { ...(operations.pictures as Operation), model: 'dall-e-3' };
  await channels(one.model);
  const stream = playing();
  const asked = ask({ ...one, body: { ...(one.body as Body), n: 2 } });
  const failed = event('image_generation.partial_failed', {
    image_index: 0,
    error: { code: 'sensitive', message: 'no' },
  });
  const sent = failed + event('image_generation.partial_succeeded', { image_index: 1, url: 'https://cats.example/1' });
  (await stream).end(sent + event('image_generation.completed'));
  await (await asked).text();
  expect(await row()).toMatchObject({ quota: 20_000, end_reason: 'completed' });
});

test('a stream without its last event broke off, and what was delivered is paid', async () => {
  const one: Operation = { ...(operations.pictures as Operation), model: 'dall-e-3' };
  await channels(one.model);
  const stream = playing();
  const asked = ask(one);
  (await stream).end(one.begin);
  expect(await (await asked).text()).toContain('"error"');
  expect(await row()).toMatchObject({ end_reason: 'upstream_broken', quota: 20_000 });
});

test('an error in the first event goes to another channel, and nothing is paid for it', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const error = event('error', { message: 'busy', code: 'server_error' });
    response.end(upstream.requests.length === 1 ? error : one.end({ usage }));
  });
  expect(await (await ask(one)).text()).toBe(one.end({ usage }));
  expect(upstream.requests).toHaveLength(2);
});

test.each([
  ['speech', 5],
  ['transcripts', 1000],
])('%s: who leaves pays what was ordered', async (name, promptTokens) => {
  const one = operations[name] as Operation;
  await channels(one.model);
  await leaving(one, one.begin);
  expect(await row()).toMatchObject({ end_reason: 'client_gone', prompt_tokens: promptTokens });
});

test('a stream under another content type is one as well', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const stream = playing('application/octet-stream');
  const asked = ask(one);
  (await stream).end(one.begin + one.end({ usage }));
  expect(await (await asked).text()).toBe(one.begin + one.end({ usage }));
});

test('a client that asked for one piece gets one, although the upstream streams', async () => {
  const pictures = operations.pictures as Operation;
  const transcripts = operations.transcripts as Operation;
  await channels(pictures.model);
  await channels(transcripts.model);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(pictures.begin + pictures.end({ usage }));
  });
  const picture = await ask({ ...pictures, body: { prompt: 'a cat' } });
  expect(await picture.json()).toMatchObject({ data: [{ b64_json: expect.any(String) }], usage });
  expect(await row()).toMatchObject({ end_reason: 'completed', completion_tokens: 4000 });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(transcripts.begin + transcripts.end({ usage: { type: 'duration', seconds: 120 } }));
  });
  const transcript = await ask({ ...transcripts, body: form({ file: wave() }) });
  expect(await transcript.json()).toEqual({ text: 'hello', usage: { type: 'duration', seconds: 120 } });
  expect(await row()).toMatchObject({ end_reason: 'completed', prompt_tokens: 2000 });
});

test('the last picture waits until its bill is durable', async () => {
  const one = operations.pictures as Operation;
  await channels(one.model);
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
  const { execute } = gateway.ledger;
  gateway.ledger.execute = (command) => committed.then(() => execute.call(gateway.ledger, command));
  const stream = playing();
  const asked = ask(one);
  const up = await stream;
  up.write(one.begin);
  const { text, over } = reading(await asked);
  await expect.poll(text).toBe(one.begin);
  up.end(one.end({ usage }));
  await Bun.sleep(20);
  expect(text()).toBe(one.begin);
  commit();
  await over;
  gateway.ledger.execute = execute;
  expect(text()).toBe(one.begin + one.end({ usage }));
});

test('sound as bytes is passed on as it comes, but for its last byte, which waits for the bill', async () => {
  await channels('tts-1');
  const stream = playing('audio/mpeg');
  const asked = ask({ ...(operations.speech as Operation), body: { input: 'hello', voice: 'alloy' } });
  const up = await stream;
  up.write('one');
  const { text, over } = reading(await asked);
  await expect.poll(text).toBe('on');
  up.write('t');
  await expect.poll(text).toBe('one');
  up.end('wo');
  await over;
  expect(text()).toBe('onetwo');
  expect(await row()).toMatchObject({ end_reason: 'completed', prompt_tokens: 5 });
});

test('an upstream that drops the connection behind the last event had sent all of it', async () => {
  const one = operations.pictures as Operation;
  const pieces = [one.begin, one.end({ usage })];
  const body = () =>
    new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const piece = pieces.shift();
          if (piece === undefined) controller.error(new Error('reset'));
          else controller.enqueue(Buffer.from(piece));
        },
      },
      { highWaterMark: 0 },
    );
  const dropping = await createTestGateway({
    upstreamFetch: (async () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } })) as never,
  });
  await dropping.channel('http://127.0.0.1:1', { models: one.model });
  const response = await dropping.send((await dropping.token()).key, one.path, {
    ...(one.body as Body),
    model: one.model,
  });
  expect(await response.text()).toBe(one.begin + one.end({ usage }));
  expect(await dropping.lastLog()).toMatchObject({ end_reason: 'completed', completion_tokens: 4000 });
  await dropping.close();
});
