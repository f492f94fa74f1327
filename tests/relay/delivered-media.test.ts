/** Pictures, sound and files inside of chat answers: paid for although no usage is reported, in every dialect, whether the client waits or leaves. */
import { afterEach, expect, test } from 'vitest';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { textOfEvents } from '../../server/relay/shared/delivered-text.ts';
import { silentWave } from '../support/recording-parts.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { sendJson } from '../support/upstream.ts';

/** What the next call of an upstream gets instead of the network. */
let inHand: Response | null = null;
const { gateway, upstream, key, row } = await sharedGateway({
  limits: { billMs: 100 },
  upstreamFetch: (async (...call: Parameters<typeof fetch>) => inHand ?? fetch(...call)) as typeof fetch,
});
afterEach(() => {
  inHand = null;
});

type Spoken = ProtocolId;
type Heard = ProtocolId;
const model = 'gpt-4o-mini';
/** Of a picture by a model without a row. */
const pictureTokens = 1290;
const picture = Buffer.alloc(300, 7).toString('base64');
const dataUrl = `data:image/png;base64,${picture}`;
const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const named = (type: string, body: Record<string, unknown>) => `event: ${type}\n${data({ type, ...body })}`;
const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: picture };
const drawn = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } };
const response = (status: string, output: unknown[]) => ({ id: 'resp_1', object: 'response', model, status, output });

interface Wire {
  readonly channel: Record<string, unknown>;
  readonly type?: string;
  readonly stream: string;
  readonly end: string;
  readonly whole: unknown;
}

const wires: Readonly<Record<Spoken, Wire>> = {
  'openai-chat': {
    channel: { setting: '{"dialect":"openai-chat"}' },
    stream: data({ id: 'c', choices: [{ index: 0, delta: { images: [{ image_url: { url: dataUrl } }] } }] }),
    end: `${data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}data: [DONE]\n\n`,
    whole: {
      id: 'c',
      choices: [
        { index: 0, message: { content: '', images: [{ image_url: { url: dataUrl } }] }, finish_reason: 'stop' },
      ],
    },
  },
  'gemini-generate': {
    channel: { type: 24 },
    stream: data({
      candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: picture } }] }, index: 0 }],
    }),
    end: data({ candidates: [{ finishReason: 'STOP', index: 0 }] }),
    whole: {
      candidates: [
        {
          content: { parts: [{ inlineData: { mimeType: 'image/png', data: picture } }] },
          finishReason: 'STOP',
          index: 0,
        },
      ],
    },
  },
  'openai-responses': {
    channel: { setting: '{"dialect":"openai-responses"}' },
    stream:
      named('response.created', { response: response('in_progress', []) }) +
      named('response.output_item.done', { output_index: 0, item }),
    end: named('response.completed', { response: response('completed', [item]) }),
    whole: response('completed', [item]),
  },
  'anthropic-messages': {
    channel: { type: 14 },
    stream:
      named('message_start', { message: { id: 'm', type: 'message', role: 'assistant', model, content: [] } }) +
      named('content_block_start', { index: 0, content_block: drawn }) +
      named('content_block_stop', { index: 0 }),
    end: named('message_delta', { delta: { stop_reason: 'end_turn' } }) + named('message_stop', {}),
    whole: { id: 'm', type: 'message', role: 'assistant', model, content: [drawn], stop_reason: 'end_turn' },
  },
  'cohere-chat': {
    channel: { type: 34 },
    stream:
      named('message-start', { id: 'm' }) +
      named('content-start', {
        index: 0,
        delta: { message: { content: { type: 'image_url', image_url: { url: dataUrl } } } },
      }) +
      named('content-end', { index: 0 }),
    end: named('message-end', { delta: { finish_reason: 'COMPLETE' } }),
    whole: {
      id: 'm',
      message: { role: 'assistant', content: [{ type: 'image_url', image_url: { url: dataUrl } }] },
      finish_reason: 'COMPLETE',
    },
  },
  'ollama-chat': {
    channel: { type: 4 },
    type: 'application/x-ndjson',
    stream: `${JSON.stringify({ model, message: { role: 'assistant', content: '', images: [picture] }, done: false })}\n`,
    end: `${JSON.stringify({ model, message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' })}\n`,
    whole: { model, message: { role: 'assistant', content: '', images: [picture] }, done: true, done_reason: 'stop' },
  },
};

const asks: Readonly<Record<Heard, (stream: boolean) => { path: string; body: unknown }>> = {
  'openai-chat': (stream) => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'anthropic-messages': (stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 9000, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'gemini-generate': (stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  }),
  'openai-responses': (stream) => ({ path: '/v1/responses', body: { model, stream, input: 'hi' } }),
  'ollama-chat': (stream) => ({
    path: '/api/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
  'cohere-chat': (stream) => ({
    path: '/v2/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'hi' }] },
  }),
};

function ask(heard: Heard, stream: boolean, signal?: AbortSignal): Promise<Response> {
  const { path, body } = asks[heard](stream);
  return gateway.send(key, path, body, { signal });
}

const pairs = (Object.keys(wires) as Spoken[]).flatMap((spoken) =>
  (Object.keys(asks) as Heard[]).map((heard) => [spoken, heard] as const),
);

test.each(pairs)(
  'a picture from %s to %s is paid without a usage: stream, one piece, and a client that leaves',
  async (spoken, heard) => {
    const { channel, stream, end, whole, type = 'text/event-stream' } = wires[spoken];
    await gateway.channel(upstream.url, channel);
    upstream.script((answer) => {
      answer.writeHead(200, { 'content-type': type });
      answer.end(stream + end);
    });
    expect(await (await ask(heard, true)).text()).toContain(picture);
    const streamed = await row();
    expect(streamed).toMatchObject({ end_reason: 'completed', usage_source: 'estimated' });
    expect(streamed?.completion_tokens).toBeGreaterThanOrEqual(pictureTokens);

    upstream.script((answer) => sendJson(answer, whole));
    expect(await (await ask(heard, false)).text()).toContain(picture);
    const inOnePiece = await row();
    expect(inOnePiece).toMatchObject({ end_reason: 'completed', usage_source: 'estimated' });
    expect(inOnePiece?.completion_tokens).toBeGreaterThanOrEqual(pictureTokens);
    expect(inOnePiece?.completion_tokens).toBeLessThan(2 * pictureTokens);

    upstream.script((answer) => {
      answer.writeHead(200, { 'content-type': type });
      answer.write(stream);
    });
    const client = new AbortController();
    const received = await ask(heard, true, client.signal);
    client.abort();
    await received.text().catch(() => '');
    const left = await row();
    expect(left).toMatchObject({ end_reason: 'client_gone', usage_source: 'estimated' });
    expect(left?.completion_tokens).toBeGreaterThanOrEqual(pictureTokens);
  },
);

/** An upstream's stream, of which each piece is given out when the one before it has been read. */
function streamInHand(): (piece: string) => Promise<void> {
  let wanted = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => wanted.resolve(controller);
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  inHand = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  return async (piece) => {
    const controller = await wanted.promise;
    wanted = Promise.withResolvers();
    controller.enqueue(Buffer.from(piece));
  };
}
const lateBill = data({ choices: [], usage: { prompt_tokens: 13, completion_tokens: 1310, total_tokens: 1323 } });
const billedLate = { usage_source: 'reported', completion_tokens: 1310, end_reason: 'client_gone' };

test('a client that leaves after a picture is charged by the bill that comes a little later', async () => {
  const { channel, stream } = wires['openai-chat'];
  await gateway.channel(upstream.url, channel);
  const give = streamInHand();
  const client = new AbortController();
  const asked = ask('openai-chat', true, client.signal);
  await give(stream);
  const reader = (await asked).body?.getReader();
  await reader?.read();
  client.abort();
  await give(data({ choices: [{ index: 0, delta: { content: 'a cat' } }] }));
  await give(lateBill);
  await give('data: [DONE]\n\n');
  expect(await row()).toMatchObject(billedLate);
});

test('a client that asked for one piece of an upstream that streams, and leaves, is charged by the late bill as well', async () => {
  const { channel, stream } = wires['openai-chat'];
  await gateway.channel(upstream.url, channel);
  const give = streamInHand();
  const client = new AbortController();
  const asked = ask('openai-chat', false, client.signal);
  await give(stream);
  await give(': still drawing\n\n');
  client.abort();
  await give(`${lateBill}data: [DONE]\n\n`);
  await asked;
  expect(await row()).toMatchObject(billedLate);
});

const events = (parts: unknown[]): readonly ChatEvent[] =>
  codecs['openai-chat'].upstream.decodeResponse({ choices: [{ message: { content: parts }, finish_reason: 'stop' }] });

test.each([
  ['image_url', { type: 'image_url', image_url: { url: dataUrl } }],
  ['an address alone', { type: 'image_url', image_url: 'https://cats.example/1.png' }],
  ['image', { type: 'image', image: dataUrl }],
  ['b64_json', { type: 'image', b64_json: picture }],
])('a picture among the parts of an answer counts: %s', (_name, part) => {
  expect(textOfEvents(events([{ type: 'text', text: 'x' }, part]))).toMatchObject({ pictures: 1, units: 1 });
});

test('a video counts by its bytes, a document by its pages or letters, what lies elsewhere at least a little', () => {
  const of = (bytes: number, mimeType: string) => `data:${mimeType};base64,${Buffer.alloc(bytes).toString('base64')}`;
  const tokens = (part: unknown) => textOfEvents(events([part])).fileTokens;
  expect(tokens({ type: 'video_url', video_url: { url: of(160_000, 'video/mp4') } })).toBe(2630);
  expect(tokens({ type: 'video_url', video_url: { url: 'https://cats.example/1.mp4' } })).toBe(2104);
  expect(tokens({ type: 'file', file: { file_data: of(6000, 'application/pdf') } })).toBe(1500);
  expect(tokens({ type: 'file', file: { file_data: of(9, 'text/plain') } })).toBe(258);
});

const gemini = (part: unknown) =>
  textOfEvents(
    codecs['gemini-generate'].upstream.decodeResponse({
      candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }],
    }),
  );

test('parts of Gemini count by what they are', () => {
  const inline = (mimeType: string, bytes: number) =>
    gemini({ inlineData: { mimeType, data: Buffer.alloc(bytes).toString('base64') } });
  expect(inline('image/png', 300)).toMatchObject({ pictures: 1, fileTokens: 0, audioSeconds: 0 });
  expect(inline('video/mp4', 160_000)).toMatchObject({ pictures: 0, fileTokens: 2630 });
  expect(inline('audio/L16;codec=pcm;rate=16000', 64_000).audioSeconds).toBe(2);
  // No dialect speaks faster than 48 kHz.
  expect(inline('audio/L16;codec=pcm;rate=96000', 192_000).audioSeconds).toBe(2);
  expect(gemini({ fileData: { mimeType: 'image/png', fileUri: 'gs://cats/1' } }).pictures).toBe(1);
  expect(gemini({ executableCode: { language: 'PYTHON', code: 'print(1)' } }).units).toBeGreaterThan(8);
});

const sound = (bytes: number) => ({
  message: { audio: { data: Buffer.alloc(bytes).toString('base64') } },
  finish_reason: 'stop',
});
const spoken = (bytes: number, form: string | null) =>
  textOfEvents(codecs['openai-chat'].upstream.decodeResponse({ choices: [sound(bytes)] }), form).audioSeconds;

test.each([
  ['pcm16', 48_000, 1],
  [null, 48_000, 1],
  ['g711_ulaw', 48_000, 6],
  ['g711_alaw', 8000, 1],
  // As thin as speech can be, where its packets do not say it.
  ['mp3', 48_000, 64],
  ['opus', 750, 1],
])('sound that was asked for as %s: %i bytes last %d s', (form, bytes, seconds) => {
  expect(spoken(bytes, form)).toBe(seconds);
});

test('sound that says how long it is lasts so long', () => {
  const choices = [{ message: { audio: { data: silentWave(1, 8000).toString('base64') } }, finish_reason: 'stop' }];
  expect(textOfEvents(codecs['openai-chat'].upstream.decodeResponse({ choices }), 'wav').audioSeconds).toBeCloseTo(
    1,
    1,
  );
});

test('drafts of a picture count with it', () => {
  const part = { type: 'image', source: { kind: 'base64', data: picture, mimeType: 'image/png' } } as const;
  const draft = { type: 'media-draft', part } as const;
  const media = { type: 'media', part } as const;
  expect(textOfEvents([draft]).pictures).toBe(1);
  expect(textOfEvents([draft, draft, media]).pictures).toBe(1);
  expect(textOfEvents([draft, media, draft]).pictures).toBe(2);
  expect(textOfEvents([media, media]).pictures).toBe(2);
});

test('text that a model writes for tools of its provider counts as words', () => {
  const words = (raw: unknown) => textOfEvents([{ type: 'unknown', dialect: 'anthropic-messages', raw }]).units;
  expect(words({ type: 'server_tool_use', name: 'web_search', input: { query: 'cats' } })).toBe(
    '{"query":"cats"}'.length,
  );
  expect(words({ type: 'code_interpreter_call', code: 'print(1)' })).toBe(8);
  expect(words({ type: 'web_search_tool_result', content: [{ url: 'https://cats.example' }] })).toBe(0);
});

test('searches of an answer count without a usage, each once, and not what they found', () => {
  const grounded = { groundingMetadata: { webSearchQueries: ['cats', 'dogs'] } };
  const reader = codecs['gemini-generate'].upstream.reader();
  const seen = [
    { candidates: [{ content: { parts: [{ text: 'x' }] }, ...grounded }] },
    { candidates: [{ content: { parts: [{ text: 'y' }] }, ...grounded, finishReason: 'STOP' }] },
  ].flatMap((body) => reader.feed({ event: '', data: JSON.stringify(body) }));
  expect(textOfEvents(seen)).toMatchObject({ units: 2, calls: { google_search: 2, google_search_prompt: 1 } });
  const action = { type: 'search', query: 'cats', sources: [{ url: 'https://cats.example' }] };
  const raw = { type: 'web_search_call', action };
  const found = textOfEvents([{ type: 'unknown', dialect: 'openai-responses', raw }]);
  expect(found).toMatchObject({ units: '{"type":"search","query":"cats"}'.length, calls: { web_search: 1 } });
});

test('pictures of every choice count', () => {
  const choice = (index: number) => ({
    index,
    message: { images: [{ image_url: { url: dataUrl } }] },
    finish_reason: 'stop',
  });
  const all = codecs['openai-chat'].upstream.decodeResponse({ choices: [choice(0), choice(1), choice(2)] });
  expect(textOfEvents(all).pictures).toBe(3);
});
