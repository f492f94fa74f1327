import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox } from './support.ts';

let sandbox: Sandbox;
let url: string;

beforeAll(async () => {
  sandbox = createSandbox();
  url = (await sandbox.start(['mock-upstream', '--port', String(freePort()), '--chunks', '3'])).line;
});
afterAll(() => sandbox.close());

test('the official SDKs understand the practice upstream in every dialect', async () => {
  const openai = new OpenAI({ apiKey: 'x', baseURL: `${url}/v1` });
  expect((await openai.responses.create({ model: 'm', input: 'hi' })).output_text).toBe('practice practice practice');
  let text = '';
  for await (const event of await openai.responses.create({ model: 'm', input: 'hi', stream: true })) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  expect(text.trim()).toBe('practice practice practice');
  expect(
    (await openai.embeddings.create({ model: 'm', input: ['a', 'b'], encoding_format: 'float' })).data,
  ).toHaveLength(2);

  const anthropic = new Anthropic({ apiKey: 'x', baseURL: url });
  const ask = { model: 'm', max_tokens: 10, messages: [{ role: 'user' as const, content: 'hi' }] };
  expect((await anthropic.messages.create(ask)).content[0]).toMatchObject({
    type: 'text',
    text: 'practice practice practice',
  });
  const message = await anthropic.messages.stream(ask).finalMessage();
  expect(message.usage.output_tokens).toBe(3);

  const gemini = new GoogleGenAI({ apiKey: 'x', httpOptions: { baseUrl: url } });
  expect((await gemini.models.generateContent({ model: 'm', contents: 'hi' })).text).toBe('practice practice practice');
  let streamed = '';
  for await (const chunk of await gemini.models.generateContentStream({ model: 'm', contents: 'hi' }))
    streamed += chunk.text ?? '';
  expect(streamed.trim()).toBe('practice practice practice');
});
