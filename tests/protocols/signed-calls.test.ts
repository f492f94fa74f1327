/** Signed tool calls in the eyes of other people's clients. */
import { createOpenAI } from '@ai-sdk/openai';
import { jsonSchema, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { ChatEvent } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';

const context = { model: 'm', responseId: 'r', created: 1, includeUsage: true };

/** What a Gemini upstream with signatures writes, as a chat client receives it. */
function encoded(frames: readonly unknown[]): string {
  const reader = codecs['gemini-generate'].upstream.reader();
  const writer = codecs['openai-chat'].translation.writer(context);
  const events: ChatEvent[] = frames.flatMap((frame) => reader.feed({ event: '', data: JSON.stringify(frame) }));
  return [...events, ...reader.end()].map((event) => writer.write(event)).join('');
}

const signedCalls = encoded([
  {
    responseId: 'r1',
    modelVersion: 'g',
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            { functionCall: { name: 'weather', args: { city: 'Paris' } }, thoughtSignature: 'c2lnLTE=' },
            { functionCall: { name: 'weather', args: {} } },
          ],
        },
      },
    ],
  },
  {
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  },
]);

const answering = (text: string) =>
  (async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } })) as unknown as typeof fetch;

const chunks = (text: string) =>
  text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice(6)) as { choices: { delta: { tool_calls?: Record<string, unknown>[] } }[] });
const pieces = (text: string) => chunks(text).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);

test('the signature stands on the first piece of its call, beside id and name', () => {
  const [first, ...others] = pieces(signedCalls);
  expect(first).toMatchObject({
    index: 0,
    id: expect.any(String),
    type: 'function',
    function: { name: 'weather', arguments: '' },
    extra_content: { google: { thought_signature: 'c2lnLTE=' } },
  });
  expect(others.every((chunk) => !('extra_content' in chunk))).toBe(true);
  expect(pieces(signedCalls).every((chunk) => typeof chunk.function === 'object')).toBe(true);
});

test('a relay in front of Gemini may write the signature’s other spelling', () => {
  const parts = [{ functionCall: { name: 'weather', args: {} }, thought_signature: 'c2lnLTE=' }];
  const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP' }];
  const [first] = pieces(encoded([{ candidates }]));
  expect(first).toMatchObject({ extra_content: { google: { thought_signature: 'c2lnLTE=' } } });
});

test('a signature that is known late comes in a piece that every client can read', () => {
  const writer = codecs['openai-chat'].translation.writer(context);
  const text = [
    { type: 'tool-call-start', index: 0, id: 'c1', name: 'weather' },
    { type: 'tool-call-delta', index: 0, arguments: '{}' },
    { type: 'tool-call-end', index: 0, signature: 's', origin: 'gemini-generate' },
  ]
    .map((event) => writer.write(event as ChatEvent))
    .join('');
  expect(pieces(text).at(-1)).toEqual({
    index: 0,
    function: { arguments: '' },
    extra_content: { google: { thought_signature: 's' } },
  });
});

test("OpenAI's own client gathers signed calls, in its loop and in its stream", async () => {
  const client = new OpenAI({ apiKey: 'k', baseURL: 'http://gateway/v1', fetch: answering(signedCalls) });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const names: string[] = [];
  for await (const chunk of await client.chat.completions.create({ model: 'm', messages, stream: true }))
    for (const call of chunk.choices[0]?.delta.tool_calls ?? []) {
      // What every loop in the manuals does.
      const { function: called } = call as { function: { name?: string; arguments?: string } };
      names.push(`${called.name ?? ''}${called.arguments ?? ''}`);
    }
  expect(names.join(' ')).toBe('weather {"city":"Paris"} weather {}');
  const gathered = await client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion();
  expect(
    gathered.choices[0]?.message.tool_calls?.map((call) => (call as { function: unknown }).function),
  ).toMatchObject([
    { name: 'weather', arguments: '{"city":"Paris"}' },
    { name: 'weather', arguments: '{}' },
  ]);
});

test('the AI SDK gathers signed calls', async () => {
  const provider = createOpenAI({ apiKey: 'k', baseURL: 'http://gateway/v1', fetch: answering(signedCalls) });
  const result = streamText({
    model: provider.chat('m'),
    prompt: 'hi',
    maxRetries: 0,
    tools: { weather: tool({ inputSchema: jsonSchema({ type: 'object' }) }) },
  });
  expect((await result.toolCalls).map(({ toolName, input }) => [toolName, input])).toEqual([
    ['weather', { city: 'Paris' }],
    ['weather', {}],
  ]);
});
