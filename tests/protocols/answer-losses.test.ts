/** What of an answer has no place in the client's dialect is listed, for each pair of dialects. */
import { expect, test } from 'vitest';
import type { ChatEvent, Citation, EventOf, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { lossesInto } from '../../server/protocols/shared/answer-losses.ts';
import { context, encoder, readStream } from './support.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const lost = (events: readonly ChatEvent[], client: ProtocolId): string[] => {
  const dropped: string[] = [];
  const note = lossesInto(dropped, client);
  for (const event of events) note(event);
  return dropped;
};

/** Each kind of event with what a dialect could lose of it: the word that must come through somewhere, or its loss be listed. */
const mark = 'SECRET';
const cited = (citation: Partial<Citation>): ChatEvent[] => [
  { type: 'text-start', index: 0 },
  { type: 'text-delta', index: 0, text: 'hi' },
  {
    type: 'text-end',
    index: 0,
    citations: [
      { url: null, title: null, quote: null, start: 0, end: 2, dialect: 'cohere-chat', raw: {}, ...citation },
    ],
  },
];
const media = (part: EventOf<'media'>['part']): ChatEvent[] => [{ type: 'media', part }];
const base64 = (mimeType: string) => ({ kind: 'base64', data: mark, mimeType }) as const;
const call: ChatEvent = { type: 'tool-call-start', index: 0, id: 'c', name: 'f' };

const held: Readonly<Record<string, readonly ChatEvent[]>> = {
  'a source with an address': cited({ url: `https://${mark}.example`, raw: { document: mark } }),
  'a source without an address': cited({ title: mark, raw: { type: mark } }),
  'a picture': media({ type: 'image', source: base64('image/png') }),
  sound: media({ type: 'audio', source: base64('audio/wav'), format: 'wav' }),
  'sound elsewhere': media({
    type: 'audio',
    source: { kind: 'url', url: `https://${mark}.example`, mimeType: null },
    format: 'wav',
  }),
  'a file': media({ type: 'file', source: base64('application/pdf'), name: null }),
  'a draft': [{ type: 'media-draft', part: { type: 'image', source: base64('image/png') } }],
  'the signature of a thought': [
    { type: 'reasoning-start', index: 0 },
    { type: 'reasoning-delta', index: 0, text: 'hm' },
    { type: 'reasoning-end', index: 0, signature: mark, redacted: null, origin: 'gemini-generate' },
  ],
  'a thought that is sealed': [
    { type: 'reasoning-start', index: 0 },
    { type: 'reasoning-end', index: 0, signature: null, redacted: mark, origin: 'gemini-generate' },
  ],
  'the signature of a call': [
    { ...call, signature: mark, origin: 'gemini-generate' },
    { type: 'tool-call-end', index: 0, signature: mark, origin: 'gemini-generate' },
  ],
  'a piece that nobody knows': [{ type: 'omitted', what: mark }],
  ...Object.fromEntries(
    dialects.map((dialect): [string, readonly ChatEvent[]] => [
      `an item of ${dialect}`,
      [{ type: 'unknown', dialect, raw: { type: 'hologram', words: mark } }],
    ]),
  ),
};

const finish: ChatEvent = { type: 'finish', reason: { unified: 'stop', raw: null } };

/** Marks are base64 in one dialect. */
const holds = (written: string): boolean =>
  written.includes(mark) ||
  /"([A-Za-z0-9+/=]{8,})"/g
    [Symbol.matchAll](written)
    .some(([, word = '']) => Buffer.from(word, 'base64').toString('utf8').includes(mark));

test.each(Object.entries(held).flatMap(([name, events]) => dialects.map((client) => [name, client, events] as const)))(
  '%s: a client of %s gets it, or the log lists its loss',
  (_name, client, events) => {
    const { translation } = codecs[client];
    const all = [...events, finish];
    const writer = translation.writer(context);
    const streamed = all.map((event) => writer.write(event)).join('');
    const whole = JSON.stringify(translation.encodeResponse(all, context));
    expect([holds(streamed), holds(whole)]).toEqual(Array(2).fill(lost(all, client).length === 0));
  },
);

const frame = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const anthropic = (delta: object) =>
  frame('message_start', { message: { id: 'msg_1', model: 'm' } }) +
  frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  frame('content_block_delta', { index: 0, delta }) +
  frame('content_block_stop', { index: 0 }) +
  frame('message_delta', { delta: { stop_reason: 'end_turn' } }) +
  frame('message_stop', {});
const responses = (...frames: string[]) =>
  frames.join('') + frame('response.completed', { response: { id: 'resp_1', status: 'completed', output: [] } });
const chat = (delta: object) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\ndata: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
const cohere = (content: object) =>
  frame('content-start', { index: 0, delta: { message: { content } } }) +
  frame('message-end', { delta: { finish_reason: 'COMPLETE' } });

test.each([
  ['anthropic-messages', 'a delta', anthropic({ type: 'hologram_delta', depth: 1 }), 'hologram_delta'],
  [
    'openai-responses',
    'a step',
    responses(frame('response.hologram.delta', { delta: 'x' })),
    'response.hologram.delta',
  ],
  [
    'openai-responses',
    'a part',
    responses(
      frame('response.output_item.done', {
        output_index: 0,
        item: { type: 'message', content: [{ type: 'hologram' }] },
      }),
    ),
    'hologram',
  ],
  ['openai-chat', 'a member', chat({ hologram: { depth: 1 } }), 'hologram'],
  ['openai-chat', 'a part', chat({ content: [{ type: 'hologram', depth: 1 }] }), 'hologram'],
  ['cohere-chat', 'a block', cohere({ type: 'hologram', depth: 1 }), 'hologram'],
] as const)('%s: %s that nobody knows is no content, and its loss is listed', (from, _name, stream, what) => {
  const events = readStream(codecs[from], encoder.encode(stream));
  expect(events.at(-1)?.type).toBe('finish');
  for (const client of dialects)
    expect(lost(events, client)).toEqual([`/output: ${what} has no place in the client's format`]);
});

test.each([
  ['anthropic-messages', anthropic({ type: 'text_delta', text: 'hi' })],
  ['openai-responses', responses(frame('response.output_text.delta', { output_index: 0, delta: 'hi' }))],
  ['openai-chat', chat({ role: 'assistant', content: 'hi', refusal: null, provider_specific_fields: { x: 1 } })],
  ['cohere-chat', cohere({ type: 'text', text: 'hi' })],
] as const)('%s: of plain words nothing is lost', (from, stream) => {
  const events = readStream(codecs[from], encoder.encode(stream));
  for (const client of dialects) expect(lost(events, client)).toEqual([]);
});

test('each kind is listed once, and of many kinds the first', () => {
  const item = (at: number): ChatEvent => ({ type: 'unknown', dialect: 'openai-responses', raw: { type: `t${at}` } });
  expect(lost([item(1), item(1)], 'openai-chat')).toHaveLength(1);
  expect(
    lost(
      Array.from({ length: 1000 }, (_, at) => item(at)),
      'openai-chat',
    ),
  ).toHaveLength(32);
});
