/** An upstream that breaks off in the middle of its words: every client SDK must tell its caller, through the real listener. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { type LanguageModel, streamText } from 'ai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { streamOf } from '../protocols/support.ts';
import { createSite, type Site } from '../support/site.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let site: Site;
let upstream: Upstream;
let key: string;
const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;

/** Frames up to the last word, and nothing behind it. */
const wordsOf = (dialect: ProtocolId): string => {
  const frames = streamOf(codecs[dialect], scenarios['plain text'] ?? []).split('\n\n');
  return `${frames.slice(0, frames.findIndex((frame) => frame.includes('world')) + 1).join('\n\n')}\n\n`;
};

beforeAll(async () => {
  upstream = await startUpstream((response, { path }) => {
    const dialect = dialects.find((id) => path.includes(`/${id}/`)) ?? 'openai-chat';
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(wordsOf(dialect));
  });
  site = await createSite();
  for (const dialect of dialects)
    await site.gateway.channel(`${upstream.url}/${dialect}`, {
      type: 199,
      models: dialect,
      setting: JSON.stringify({ dialect }),
    });
  await site.gateway.option('SelfUseModeEnabled', 'true');
  key = `sk-${(await site.gateway.token()).key}`;
});
afterAll(async () => {
  await site.close();
  await upstream.stop();
});

let chunks = 0;
/** Reads to the end, or throws what the SDK throws. */
async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream) chunks++;
}
const words = (content: string) => [{ role: 'user' as const, content }];

const throughAi = async (model: LanguageModel): Promise<void> => {
  let failure: unknown = null;
  const { fullStream } = streamText({
    model,
    prompt: 'hi',
    maxRetries: 0,
    onError: ({ error }) => {
      failure = error;
    },
  });
  await drained(fullStream);
  if (failure !== null) throw failure;
};

const clients: Readonly<Record<string, (model: string) => Promise<void>>> = {
  'openai chat': async (model) => {
    const openai = new OpenAI({ apiKey: key, baseURL: `${site.url}/v1`, maxRetries: 0 });
    await drained(await openai.chat.completions.create({ model, stream: true, messages: words('hi') }));
  },
  'openai responses': async (model) => {
    const openai = new OpenAI({ apiKey: key, baseURL: `${site.url}/v1`, maxRetries: 0 });
    await drained(await openai.responses.create({ model, stream: true, input: 'hi' }));
  },
  anthropic: async (model) => {
    const anthropic = new Anthropic({ apiKey: key, baseURL: site.url, maxRetries: 0 });
    await drained(await anthropic.messages.create({ model, stream: true, max_tokens: 9, messages: words('hi') }));
  },
  'google-genai': async (model) => {
    const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: site.url } });
    await drained(await google.models.generateContentStream({ model, contents: 'hi' }));
  },
  ollama: async (model) => {
    const ollama = new Ollama({ host: site.url, headers: { authorization: `Bearer ${key}` } });
    await drained(await ollama.chat({ model, stream: true, messages: words('hi') }));
  },
  'ai: chat': (model) => throughAi(createOpenAI({ apiKey: key, baseURL: `${site.url}/v1` }).chat(model)),
  'ai: responses': (model) => throughAi(createOpenAI({ apiKey: key, baseURL: `${site.url}/v1` }).responses(model)),
  'ai: anthropic': (model) => throughAi(createAnthropic({ apiKey: key, baseURL: `${site.url}/v1` })(model)),
  'ai: google': (model) => throughAi(createGoogleGenerativeAI({ apiKey: key, baseURL: `${site.url}/v1beta` })(model)),
};

test.each(Object.keys(clients).flatMap((client) => dialects.map((dialect) => [client, dialect] as const)))(
  '%s notices that %s broke off',
  async (client, dialect) => {
    chunks = 0;
    await expect(clients[client]?.(dialect)).rejects.toBeTruthy();
    expect(chunks).toBeGreaterThan(1);
  },
);

test('clients that read events as they come see the cut of a Gemini stream itself', async () => {
  const address = `${site.url}/v1beta/models/gemini-generate:streamGenerateContent?alt=sse`;
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'x-goog-api-key': key },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
  });
  let received = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) received += decoder.decode(chunk, { stream: true });
  })();
  await expect(reading).rejects.toThrow();
  expect(received).toContain('world');
  expect(received).toContain('"error"');
});
