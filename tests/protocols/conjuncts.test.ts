/** What holds in the rare case of a rule with several conditions: a second frame, a second block that waits, a document by its address. */
import { expect, test } from 'vitest';
import type { ChatEvent, ChatRequest } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { oneAtATime } from '../../server/protocols/shared/one-at-a-time.ts';
import { createSseTextSplitter } from '../../server/protocols/shared/sse.ts';
import { unknownTarget } from '../../server/protocols/target.ts';
import { encoder, readStream } from './support.ts';

const frames = (...bodies: object[]): Uint8Array =>
  encoder.encode(bodies.map((body) => `data: ${JSON.stringify(body)}\n\n`).join(''));

test('of two blocks that wait, the second one waits for the end of the first', () => {
  const order = oneAtATime();
  const event = (type: string, index: number): ChatEvent => ({ type, index }) as unknown as ChatEvent;
  const named = (events: readonly ChatEvent[]) => events.map((one) => `${one.type} ${'index' in one && one.index}`);
  expect(named(order.next(event('text-start', 0)))).toEqual(['text-start 0']);
  for (const waiting of ['text-start 1', 'text-delta 1', 'text-start 2', 'text-delta 2']) {
    const [type = '', index] = waiting.split(' ');
    expect(order.next(event(type, Number(index)))).toEqual([]);
  }
  expect(named(order.next(event('text-end', 0)))).toEqual(['text-end 0', 'text-start 1', 'text-delta 1']);
  expect(named(order.next(event('text-end', 1)))).toEqual(['text-end 1', 'text-start 2', 'text-delta 2']);
  expect(named(order.next(event('text-start', 3)))).toEqual([]);
  expect(named(order.next(event('text-end', 2)))).toEqual(['text-end 2', 'text-start 3']);
});

test('Gemini: the sources and searches of an earlier frame stay where a later one says less', () => {
  const page = { web: { uri: 'https://a.example', title: 'A' } };
  const candidate = (text: string, groundingMetadata?: object) => ({
    candidates: [{ content: { parts: [{ text }] }, ...(groundingMetadata === undefined ? {} : { groundingMetadata }) }],
  });
  const events = readStream(
    codecs['gemini-generate'],
    frames(
      candidate('one', { webSearchQueries: ['x', 'y'], groundingChunks: [page] }),
      candidate(' two', { groundingChunks: [page] }),
      candidate(' three'),
      {
        candidates: [{ finishReason: 'STOP', content: { parts: [] } }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 },
      },
    ),
  );
  const usage = events.findLast((event) => event.type === 'usage');
  expect(usage).toMatchObject({ usage: { toolCalls: { google_search: 2 } } });
  expect(JSON.stringify(events)).toContain('https://a.example');
});

test('Gemini: a source stands where its bytes are, behind Chinese and pairs too', () => {
  const words = '天气😀很好, sunny';
  const segment = {
    startIndex: Buffer.byteLength('天气😀'),
    endIndex: Buffer.byteLength('天气😀很好'),
    text: '很好',
  };
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }],
    groundingSupports: [{ segment, groundingChunkIndices: [0] }],
  };
  const events = codecs['gemini-generate'].upstream.decodeResponse({
    candidates: [{ content: { parts: [{ text: words }] }, finishReason: 'STOP', groundingMetadata }],
  });
  const cited = events.flatMap((event) => ('citations' in event && event.citations ? event.citations : []));
  expect(cited).toMatchObject([{ quote: '很好', start: 4, end: 6 }]);
  expect(words.slice(4, 6)).toBe('很好');
});

const request = (more: Partial<ChatRequest>): ChatRequest => ({
  ...codecs['openai-chat'].translation.decodeRequest(
    { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    { model: 'm', stream: false },
  ),
  ...more,
});

test('Anthropic: a document by its address goes along, whatever type is said of it', () => {
  for (const mimeType of ['', 'application/octet-stream']) {
    const source = { kind: 'url', url: 'https://a.example/paper', mimeType } as never;
    const given = request({
      dialect: 'openai-responses',
      messages: [{ role: 'user', parts: [{ type: 'file', source, name: null }] }] as never,
    });
    const dropped: string[] = [];
    const made = codecs['anthropic-messages'].translation.encodeRequest(given, dropped, unknownTarget);
    expect(dropped).toEqual([]);
    expect(made).toMatchObject({
      messages: [{ content: [{ type: 'document', source: { type: 'url', url: 'https://a.example/paper' } }] }],
    });
  }
});

test('OpenAI chat: a free-text tool of another dialect goes out in the form of this one', () => {
  const tool = (raw: object) => [{ kind: 'custom', name: 'patch', description: 'd', schema: {}, strict: null, raw }];
  const sent = (raw: object) => {
    const given = request({ dialect: 'openai-responses', tools: tool(raw) as never });
    return codecs['openai-chat'].translation.encodeRequest(given, [], unknownTarget).tools;
  };
  expect(sent({ type: 'custom', name: 'patch', format: { type: 'text' } })).toMatchObject([
    { type: 'function', function: { name: 'patch', description: 'd' } },
  ]);
  const own = { type: 'custom', custom: { name: 'patch' } };
  expect(sent(own)).toEqual([own]);
});

test('a stream that arrives as text may be cut inside of a pair', () => {
  const splitter = createSseTextSplitter();
  const [high = '', low = ''] = '😀'.split('');
  const read = [`data: a${high}`, `${low}b\n\ndata: `, '你\n\n'].flatMap((piece) => splitter.push(piece));
  expect(read.map(({ data }) => data)).toEqual(['a😀b', '你']);
  expect(splitter.end()).toBeNull();
});
