/** Arguments that Gemini streams in pieces, read by us and by the AI SDK. */
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { jsonSchema, streamText, tool } from 'ai';
import { expect, test } from 'vitest';
import { codecs } from '../../server/protocols/registry.ts';
import { meaning } from './support.ts';

type Call = Record<string, unknown>;
const frame = (calls: readonly Call[], more: Record<string, unknown> = {}) => ({
  responseId: 'r1',
  candidates: [{ content: { role: 'model', parts: calls.map((functionCall) => ({ functionCall })) }, ...more }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
});

const eventsOf = (frames: readonly unknown[]) => {
  const reader = codecs['gemini-generate'].upstream.reader();
  return [...frames.flatMap((one) => reader.feed({ event: '', data: JSON.stringify(one) })), ...reader.end()];
};

const piece = (jsonPath: string, value: Record<string, unknown>) => ({ jsonPath, ...value });

const streamed = [
  frame([{ name: 'cook', willContinue: true }]),
  frame([{ partialArgs: [piece('$.recipe.name', { stringValue: 'Las', willContinue: true })], willContinue: true }]),
  frame([
    { partialArgs: [piece('$.recipe.name', { stringValue: 'agne "x"', willContinue: true })], willContinue: true },
  ]),
  frame([{ partialArgs: [piece('$.recipe.name', { stringValue: '' })], willContinue: true }]),
  frame([
    {
      partialArgs: [
        piece('$.recipe.parts[0].what', { stringValue: 'flour' }),
        piece('$.recipe.parts[0].grams', { numberValue: 12.5 }),
        piece('$.recipe.parts[1].what', { stringValue: 'egg' }),
      ],
      willContinue: true,
    },
  ]),
  frame([{ partialArgs: [piece('$.hot', { boolValue: true })], willContinue: true }]),
  frame([{ partialArgs: [piece('$.note', { nullValue: 'NULL_VALUE' })], willContinue: true }]),
  frame([{}]),
  frame([{ name: 'cook', willContinue: true }]),
  frame([{ partialArgs: [piece('$.hot', { boolValue: false })], willContinue: true }]),
  frame([{}], { finishReason: 'STOP' }),
];

const expected = [
  { recipe: { name: 'Lasagne "x"', parts: [{ what: 'flour', grams: 12.5 }, { what: 'egg' }] }, hot: true, note: null },
  { hot: false },
];

test('arguments in pieces are one call with all of them', () => {
  const { calls, finish } = meaning(eventsOf(streamed));
  expect(calls.map(({ name, input }) => [name, input])).toEqual(expected.map((input) => ['cook', input]));
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  expect(finish).toBe('tool_calls');
});

test('the AI SDK reads the same of the same frames', async () => {
  const body = streamed.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
  const fetched = (async () =>
    new Response(body, { headers: { 'content-type': 'text/event-stream' } })) as unknown as typeof fetch;
  const provider = createGoogleGenerativeAI({ apiKey: 'k', baseURL: 'http://gateway/v1beta', fetch: fetched });
  const result = streamText({
    model: provider('gemini-x'),
    prompt: 'hi',
    maxRetries: 0,
    tools: { cook: tool({ inputSchema: jsonSchema({ type: 'object' }) }) },
  });
  expect((await result.toolCalls).map(({ input }) => input)).toEqual(expected);
});

test.each([
  ['a list that is closed without a member', [piece('$.list[]', {})], { list: [] }],
  ['names in brackets', [piece('$[\'a b\']["c"]', { stringValue: 'x' })], { 'a b': { c: 'x' } }],
  ['lists without holes', [piece('$.list[4000000000]', { numberValue: 1 })], { list: [1] }],
  [
    'names of what every object inherits',
    [piece('$.__proto__.x', { numberValue: 1 })],
    JSON.parse('{"__proto__":{"x":1}}'),
  ],
])('%s', (_name, partialArgs, input) => {
  const { calls } = meaning(eventsOf([frame([{ name: 'f', partialArgs }], { finishReason: 'STOP' })]));
  expect(JSON.stringify(calls[0]?.input)).toBe(JSON.stringify(input));
});

test('a call that breaks off is written as far as it came', () => {
  const { calls } = meaning(eventsOf(streamed.slice(0, 3)));
  expect(calls.map(({ input }) => input)).toEqual([{ recipe: { name: 'Lasagne "x"' } }]);
});

test('an empty function_call is no call', () => {
  const reader = codecs['openai-chat'].upstream.reader();
  const chunk = (delta: Record<string, unknown>, finish: string | null) =>
    reader.feed({
      event: '',
      data: JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] }),
    });
  const events = [
    ...chunk({ content: 'hi', function_call: {} }, null),
    ...chunk({ content: '', function_call: { name: '', arguments: '' } }, 'stop'),
    ...reader.end(),
  ];
  expect(meaning(events)).toMatchObject({ text: 'hi', calls: [], finish: 'stop' });
});

test('ids that are made up differ between the answers of one conversation', () => {
  const ids = ['r1', 'r2'].map(
    (responseId) =>
      meaning(eventsOf([{ ...frame([{ name: 'f', args: {} }], { finishReason: 'STOP' }), responseId }])).calls[0]?.id,
  );
  expect(new Set(ids).size).toBe(2);
});

test('a name in quotes is written as it is, whatever is escaped in it', () => {
  const args = [piece("$['it\\'s']", { stringValue: 'a' }), piece('$["say \\"hi\\" to C:\\\\"]', { numberValue: 2 })];
  const events = eventsOf([
    frame([{ name: 'cook', willContinue: true }]),
    frame([{ partialArgs: args, willContinue: true }]),
    frame([{}], { finishReason: 'STOP' }),
  ]);
  const text = events.map((event) => (event.type === 'tool-call-delta' ? event.arguments : '')).join('');
  expect(JSON.parse(text)).toEqual({ "it's": 'a', 'say "hi" to C:\\': 2 });
});
