/** Wires without blocks: what is said in pieces becomes blocks that open and close, once each, and one end. */
import { expect, test } from 'vitest';
import type { ChatRequest, Message } from '../../server/protocols/canonical.ts';
import { simpleWire, type WireChunk } from '../../server/protocols/shared/simple-wire.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { dify } from '../../server/providers/adapters/dify.ts';
import { transcriptOf } from '../../server/providers/adapters/transcript.ts';

const wire = simpleWire({
  encodeRequest: () => ({}),
  frame: (body) => body as WireChunk,
  whole: (body) => body as WireChunk,
  readUsage: (stated) => ({ ...emptyUsage, ...stated }),
  decodeError: (status, body) => ({ status, type: null, code: null, message: String(body.message) }),
  isLast: (body) => body.last === true,
});
const eventsOf = (...chunks: readonly (WireChunk | string)[]) => {
  const reader = wire.upstream.reader();
  const events = chunks.flatMap((one) =>
    reader.feed({ event: '', data: typeof one === 'string' ? one : JSON.stringify(one) }),
  );
  return [...events, ...reader.end()];
};
const start = { type: 'response-start', id: null, model: null, created: null };

test('words and thoughts take turns in blocks of their own', () => {
  expect(
    eventsOf(
      { thought: 'a' },
      { thought: 'b', text: '' },
      { text: 'c', citations: [] },
      { text: 'd' },
      { thought: 'e' },
      { end: 'length', raw: 'max' },
    ),
  ).toEqual([
    start,
    { type: 'reasoning-start', index: 0 },
    { type: 'reasoning-delta', index: 0, text: 'a' },
    { type: 'reasoning-delta', index: 0, text: 'b' },
    { type: 'reasoning-end', index: 0, signature: null, redacted: null },
    { type: 'text-start', index: 1 },
    { type: 'text-delta', index: 1, text: 'c' },
    { type: 'text-delta', index: 1, text: 'd' },
    { type: 'text-end', index: 1 },
    { type: 'reasoning-start', index: 2 },
    { type: 'reasoning-delta', index: 2, text: 'e' },
    { type: 'reasoning-end', index: 2, signature: null, redacted: null },
    { type: 'finish', reason: { unified: 'length', raw: 'max' } },
  ]);
});

test('a call closes what was being said, gets an id where it has none, and is why a good end came', () => {
  const calls = [
    { id: null, name: 'f', arguments: '{"a":1}' },
    { id: 'own', name: 'g', arguments: '{}' },
    { id: null, name: 'f', arguments: '' },
  ];
  const events = eventsOf({ text: 'x', calls }, { end: 'stop' });
  expect(events.map(({ type }) => type)).toEqual([
    'response-start',
    'text-start',
    'text-delta',
    'text-end',
    ...calls.flatMap(() => ['tool-call-start', 'tool-call-delta', 'tool-call-end']),
    'finish',
  ]);
  expect(events.filter(({ type }) => type === 'tool-call-start')).toEqual([
    { type: 'tool-call-start', index: 1, id: 'call_0_f', name: 'f' },
    { type: 'tool-call-start', index: 2, id: 'own', name: 'g' },
    { type: 'tool-call-start', index: 3, id: 'call_2_f', name: 'f' },
  ]);
  expect(events.at(-1)).toEqual({ type: 'finish', reason: { unified: 'tool_calls', raw: null } });
  expect(eventsOf({ calls }, { end: 'length' }).at(-1)).toMatchObject({ reason: { unified: 'length' } });
  expect(eventsOf({ text: 'x' }, { end: 'stop' }).at(-1)).toMatchObject({ reason: { unified: 'stop' } });
});

test('sources belong to the text they came with', () => {
  const citation = (url: string) => ({ url, title: null, start: null, end: null }) as never;
  const ends = eventsOf(
    { text: 'a', citations: [citation('one')] },
    { citations: [citation('two')] },
    { thought: 't' },
    { text: 'b' },
    { end: 'stop' },
  ).filter(({ type }) => type === 'text-end');
  expect(ends).toEqual([
    { type: 'text-end', index: 0, citations: [citation('one'), citation('two')] },
    { type: 'text-end', index: 2 },
  ]);
});

test('an end or an error is the last event; without either the stream was broken', () => {
  const error = { status: 500, type: null, code: null, message: 'no' };
  expect(eventsOf({ text: 'a' }, { error }, { text: 'b' }, { end: 'stop' }).slice(3)).toEqual([
    { type: 'error', error },
  ]);
  expect(eventsOf({ end: 'stop' }, { text: 'b' }).map(({ type }) => type)).toEqual(['response-start', 'finish']);
  expect(eventsOf({ text: 'a' }, 'not JSON', '7').slice(3)).toEqual([
    { type: 'text-end', index: 0 },
    { type: 'error', error: { status: null, type: null, code: null, message: 'the stream ended early' } },
  ]);
  expect(eventsOf()).toHaveLength(1);
  expect(eventsOf({ usage: { ...emptyUsage, input: 3 } }, { end: 'stop' })[1]).toMatchObject({ usage: { input: 3 } });
});

test('the end is written once', () => {
  const reader = wire.upstream.reader();
  expect(reader.end().length).toBeGreaterThan(0);
  expect(reader.end()).toEqual([]);
});

test('a whole answer ends well unless it says otherwise; the last frame is known where it can be', () => {
  const { upstream } = wire;
  expect(upstream.decodeResponse({ text: 'a' }).at(-1)).toMatchObject({ reason: { unified: 'stop' } });
  expect(upstream.decodeResponse({ end: 'length' }).at(-1)).toMatchObject({ reason: { unified: 'length' } });
  expect(upstream.readUsage({ usage: { ...emptyUsage, output: 4 } })?.output).toBe(4);
  expect([upstream.readUsage({}), upstream.readUsage(null)]).toEqual([null, null]);
  const kindOf = (data: string) => {
    const reader = upstream.reader();
    reader.feed({ event: '', data });
    return reader.frameKind;
  };
  expect([kindOf('{"last":true}'), kindOf('{}')]).toEqual(['terminal', 'plain']);
  expect(upstream.decodeError(418, '{"message":"teapot"}')).toMatchObject({ status: 418, message: 'teapot' });
});

const request = (over: Partial<ChatRequest>) =>
  ({ messages: [], tools: [], stream: false, user: null, ...over }) as unknown as ChatRequest;
const message = (role: Message['role'], ...texts: string[]): Message =>
  ({ role, parts: texts.map((text) => ({ type: 'text', text })) }) as Message;

test('Dify takes one text and reports tokens, thoughts and errors in its own format', () => {
  const found = dify.protocol?.({ operation: 'chat', model: 'm', keyKind: 'secret' })?.wire;
  if (found === undefined || found === null) throw new Error('no wire');
  const { encodeRequest, upstream } = found;
  const body = encodeRequest(request({ messages: [message('user', 'hi')] }), []);
  expect(body).toEqual({
    inputs: {},
    query: 'hi',
    response_mode: 'blocking',
    user: 'gateway',
    auto_generate_name: false,
  });
  expect(encodeRequest(request({ stream: true, user: 'u1' }), [])).toMatchObject({
    response_mode: 'streaming',
    user: 'u1',
  });
  const usage = (prompt: number, completion: number) => ({
    metadata: { usage: { prompt_tokens: prompt, completion_tokens: completion } },
  });
  expect(upstream.readUsage(usage(7, 0))).toMatchObject({ input: 7, output: 0 });
  expect(upstream.readUsage(usage(0, 5))).toMatchObject({ input: 0, output: 5 });
  expect(upstream.readUsage({ metadata: { usage: { prompt_tokens: 7 } } })).toMatchObject({ input: 7, output: 0 });
  expect(upstream.readUsage({ metadata: { usage: { completion_tokens: 5 } } })).toMatchObject({ input: 0, output: 5 });
  for (const none of [usage(0, 0), usage(-1, 5), usage(5, -1), {}]) expect(upstream.readUsage(none)).toBeNull();
  const reader = upstream.reader();
  const events = [
    { event: 'agent_thought', thought: 'hm' },
    { event: 'agent_message', answer: 'yes' },
    { event: 'ping' },
    { event: 'message_end', ...usage(3, 4) },
  ].flatMap((one) => reader.feed({ event: '', data: JSON.stringify(one) }));
  expect(events.map(({ type }) => type)).toEqual([
    'response-start',
    'reasoning-start',
    'reasoning-delta',
    'reasoning-end',
    'text-start',
    'text-delta',
    'usage',
    'text-end',
    'finish',
  ]);
  const failed = upstream
    .reader()
    .feed({ event: '', data: '{"event":"error","status":400,"code":"bad","message":"no"}' });
  expect(failed).toEqual([{ type: 'error', error: { status: 400, type: null, code: 'bad', message: 'no' } }]);
  expect(upstream.decodeError(503, '{}')).toMatchObject({ status: 503, message: 'the application failed' });
});

test('a conversation as one text names its speakers and declares what it leaves out', () => {
  const dropped: string[] = [];
  const image = { role: 'user', parts: [{ type: 'image' }, { type: 'text', text: 'b' }] } as unknown as Message;
  const messages = [
    message('system', 's'),
    message('developer', 'd'),
    message('user', 'a', 'a2'),
    message('assistant', 'x'),
    image,
  ];
  expect(transcriptOf(request({ messages, tools: [{}] as never }), dropped)).toBe(
    'SYSTEM: s\n\nSYSTEM: d\n\nUSER: a\na2\n\nASSISTANT: x\n\nUSER: b',
  );
  expect(dropped).toEqual(['/tools: not known to the upstream', '/messages/4: image cannot be sent to the upstream']);
  expect(transcriptOf(request({ messages: [message('assistant', 'alone')] }), [])).toBe('alone');
});
