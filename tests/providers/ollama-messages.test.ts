/** How conversations, ends and counts read on Ollama's own wire, member by member. */
import { expect, test } from 'vitest';
import type { ChatRequest, Message } from '../../server/protocols/canonical.ts';
import { ollama } from '../../server/providers/adapters/ollama.ts';

const found = ollama.protocol?.({ operation: 'chat', model: 'm', keyKind: 'secret' })?.wire;
if (found === undefined) throw new Error('no wire');
const { encodeRequest, upstream } = found;

const request = (over: Partial<ChatRequest>): ChatRequest => ({
  model: 'm',
  messages: [],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  stream: false,
  maxTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  stop: [],
  seed: null,
  presencePenalty: null,
  frequencyPenalty: null,
  responseFormat: null,
  reasoning: null,
  user: null,
  candidates: 1,
  dialect: 'openai-chat',
  extra: {},
  ...over,
});
const words = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }));
const encoded = (messages: readonly object[]) => {
  const dropped: string[] = [];
  const { messages: sentMessages } = encodeRequest(request({ messages: messages as Message[] }), dropped);
  return { sentMessages, dropped };
};

test('each role has its word, pieces of text stand on lines of their own', () => {
  const { sentMessages, dropped } = encoded([
    { role: 'system', parts: words('a', 'b') },
    { role: 'developer', parts: words('c') },
    { role: 'user', parts: words('d', 'e', 'f') },
    { role: 'assistant', parts: words('g') },
    { role: 'tool', parts: words('h') },
    { role: 'user', parts: [] },
  ]);
  expect(sentMessages).toEqual([
    { role: 'system', content: 'a\nb' },
    { role: 'system', content: 'c' },
    { role: 'user', content: 'd\ne\nf' },
    { role: 'assistant', content: 'g' },
    { role: 'user', content: 'h' },
  ]);
  expect(dropped).toEqual([]);
});

test('calls and results, pictures and thoughts stand where the upstream looks for them', () => {
  const { sentMessages, dropped } = encoded([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'one ', signature: null, redacted: null },
        { type: 'reasoning', text: 'two', signature: null, redacted: null },
        { type: 'refusal', text: 'no' },
        { type: 'tool-call', id: 'call_1', name: 'look', arguments: '{"at":1}' },
        { type: 'tool-call', id: 'call_2', name: 'other', arguments: '{}' },
      ],
    },
    {
      role: 'tool',
      parts: [
        { type: 'tool-result', id: 'call_1', name: null, content: words('seen') },
        { type: 'tool-result', id: 'call_2', name: 'other', content: words('x') },
      ],
    },
    {
      role: 'user',
      parts: [
        { type: 'image', source: { kind: 'base64', data: 'iVBO', mediaType: 'image/png' } },
        { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } },
        ...words('look'),
      ],
    },
  ]);
  expect(sentMessages).toEqual([
    {
      role: 'assistant',
      content: 'no',
      thinking: 'one two',
      tool_calls: [
        { id: 'call_1', function: { name: 'look', arguments: { at: 1 } } },
        { id: 'call_2', function: { name: 'other', arguments: {} } },
      ],
    },
    { role: 'tool', content: 'seen', tool_name: 'look', tool_call_id: 'call_1' },
    { role: 'tool', content: 'x', tool_name: 'other', tool_call_id: 'call_2' },
    { role: 'user', content: 'look', images: ['iVBO'] },
  ]);
  expect(dropped).toEqual(['/messages/2: image cannot be sent to the upstream']);
});

const end = (more: object) => upstream.reader().feed({ event: '', data: JSON.stringify({ done: true, ...more }) });

test.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['load', 'other'],
  [undefined, 'stop'],
])('an end by %s is %s', (reason, unified) => {
  expect(end({ done_reason: reason }).at(-1)).toEqual({ type: 'finish', reason: { unified, raw: reason ?? null } });
});

test.each([
  [{ prompt_eval_count: 10, eval_count: 5 }, [10, 5]],
  [{ prompt_eval_count: 10 }, [10, 0]],
  [{ prompt_eval_count: 0, eval_count: 5 }, [0, 5]],
  [{ eval_count: 5 }, null],
  [{ prompt_eval_count: 0, eval_count: 0 }, null],
  [{}, null],
])('counts %j are believed as %j', (counts, expected) => {
  const usage = upstream.readUsage({ message: { content: 'x' }, done: true, ...counts });
  expect(usage === null ? null : [usage.input, usage.output]).toEqual(expected);
});

test('an error has the upstream’s message, or its status', () => {
  expect(upstream.decodeError(404, '{"error":"model not found"}').message).toBe('model not found');
  expect(upstream.decodeError(500, '{}')).toMatchObject({ status: 500, message: 'bad response status code 500' });
  expect(end({ error: 'out of memory' })).toMatchObject([
    { type: 'error', error: { status: null, message: 'out of memory' } },
  ]);
});

test.each([
  [null, undefined],
  [{ effort: 'none' }, false],
  [{ effort: 'minimal' }, 'low'],
  [{ effort: 'low' }, 'low'],
  [{ effort: 'medium' }, 'medium'],
  [{ effort: 'high' }, 'high'],
  [{ effort: 'xhigh' }, 'high'],
])('a wish to think of %j is %j', (reasoning, expected) => {
  const requested = reasoning === null ? null : ({ budget: null, ...reasoning } as unknown as ChatRequest['reasoning']);
  expect(encodeRequest(request({ reasoning: requested }), []).think).toBe(expected);
});

test('tools: none when none is wanted, a choice that cannot be sent is listed as dropped', () => {
  const tool = { kind: 'function', name: 'look', description: null, schema: { type: 'object', properties: {} } };
  const sentTools = (toolChoice: unknown) => {
    const dropped: string[] = [];
    const tools = [tool, { kind: 'provider', name: 'own' }] as unknown as ChatRequest['tools'];
    const { tools: sent } = encodeRequest(request({ tools, toolChoice: toolChoice as never }), dropped);
    return [sent === undefined ? 0 : (sent as unknown[]).length, dropped];
  };
  const own = '/tools/1: own cannot be sent to the upstream';
  expect(sentTools(null)).toEqual([1, [own]]);
  expect(sentTools('auto')).toEqual([1, [own]]);
  expect(sentTools('none')).toEqual([0, []]);
  expect(sentTools('required')).toEqual([1, ['/tool_choice: not known to the upstream', own]]);
});
