/** What writers put around the words: lists that stay JSON wherever they are cut, parts that are opened once. */
import { expect, test } from 'vitest';
import type { ChatEvent } from '../../server/protocols/canonical.ts';
import { transformFor } from '../../server/protocols/gemini-generate/json-list.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { streamOf } from './support.ts';

const listed = (chunks: readonly string[]): unknown => {
  const shape = transformFor('/v1beta/models/m:streamGenerateContent');
  if (shape === null) throw new Error('no list');
  return JSON.parse(chunks.map((chunk) => shape.push(chunk)).join('') + shape.end());
};

test('a stream as a list is JSON, however many answers it has and wherever they are cut', () => {
  const stream = 'data: {"a":1}\r\n\r\ndata: {"b":2}\n\n: still here\n\ndata: {"c":3}\n\n';
  expect(listed([stream])).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
  expect(listed([...stream])).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
  expect(listed(['data: {"a":1}\n\n'])).toEqual([{ a: 1 }]);
  expect(listed(['data: {"a":1}\n\ndata: {"b":2}'])).toEqual([{ a: 1 }, { b: 2 }]);
  expect(listed(['data: {"b":2}'])).toEqual([{ b: 2 }]);
  expect(listed([': still here\n\n'])).toEqual([]);
  expect(listed([])).toEqual([]);
});

test.each([
  ['/v1beta/models/m:streamGenerateContent', true],
  ['/v1beta/models/m:streamGenerateContent?key=k', true],
  ['/v1beta/models/m:streamGenerateContent?alt=json', true],
  ['/v1beta/models/m:streamGenerateContent?alt=sse', false],
  ['/v1beta/models/m:streamGenerateContent?key=k&alt=sse', false],
  ['/v1beta/models/m:generateContent', false],
])('%s is written as a list: %s', (url, expected) => expect(transformFor(url) !== null).toBe(expected));

const typesIn = (events: readonly ChatEvent[]): string[] =>
  [...streamOf(codecs['openai-responses'], events).matchAll(/^event: (.*)$/gm)].map((match) => match[1] ?? '');

test('a summary of thoughts is opened once, before its first word, and closed only where it was opened', () => {
  const start: ChatEvent = { type: 'response-start', id: null, model: 'm', created: 1 };
  const opened: ChatEvent = { type: 'reasoning-start', index: 0 };
  const word: ChatEvent = { type: 'reasoning-delta', index: 0, text: 'hm' };
  const closed: ChatEvent = { type: 'reasoning-end', index: 0, signature: 's', redacted: null };
  const finish: ChatEvent = { type: 'finish', reason: { unified: 'stop', raw: 'stop' } };
  const part = 'response.reasoning_summary_part';
  const text = 'response.reasoning_summary_text';
  const about = (events: readonly ChatEvent[]) => typesIn(events).filter((type) => type.includes('summary'));
  expect(about([start, opened, word, word, word, closed, finish])).toEqual([
    `${part}.added`,
    `${text}.delta`,
    `${text}.delta`,
    `${text}.delta`,
    `${text}.done`,
    `${part}.done`,
  ]);
  expect(about([start, opened, closed, finish])).toEqual([]);
});

test('ids of items in a response show their kind, as OpenAI’s own do', () => {
  const encoded = streamOf(codecs['openai-responses'], [
    { type: 'response-start', id: null, model: 'm', created: 1 },
    { type: 'reasoning-start', index: 0 },
    { type: 'reasoning-delta', index: 0, text: 'hm' },
    { type: 'reasoning-end', index: 0, signature: 's', redacted: null },
    { type: 'text-start', index: 1 },
    { type: 'text-delta', index: 1, text: 'hi' },
    { type: 'text-end', index: 1 },
    { type: 'tool-call-start', index: 2, id: 'call_1', name: 'f' },
    { type: 'tool-call-delta', index: 2, arguments: '{}' },
    { type: 'tool-call-end', index: 2 },
    { type: 'finish', reason: { unified: 'tool_calls', raw: null } },
  ]);
  const items = [...encoded.matchAll(/^data: (.*)$/gm)]
    .map((match) => JSON.parse(match[1] ?? '') as { type: string; item?: { id: string; type: string } })
    .flatMap(({ type, item }) => (type === 'response.output_item.done' && item !== undefined ? [item] : []));
  expect(items.map(({ type, id }) => [type, id.split('_')[0]])).toEqual([
    ['reasoning', 'rs'],
    ['message', 'msg'],
    ['function_call', 'fc'],
  ]);
});
