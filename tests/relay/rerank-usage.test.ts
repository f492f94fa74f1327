import { expect, test } from 'vitest';
import { codecFor } from '../../server/protocols/registry.ts';
import type { TokenCounter } from '../../server/relay/admission/counting/counter.ts';
import { countLocally, estimate, reportedUsage } from '../../server/relay/admission/meter.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import { deliveredTextOf } from '../../server/relay/shared/delivered-text.ts';
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';
import { plainPrices } from '../support/plain-prices.ts';

const usageOf = (operation: string, total: unknown) =>
  reportedUsage({ operation } as ParsedRequest, codecFor('openai-chat').upstream, {
    results: [],
    usage: { total_tokens: total },
  });

test('a ranking’s response with only a total: that is the input; without a total nothing is known', () => {
  expect(usageOf('rerank', 7)).toMatchObject({ input: 7, output: 0 });
  for (const none of [0, -1, null, 'many', undefined]) expect(usageOf('rerank', none), String(none)).toBeNull();
  expect(usageOf('embeddings', 7)?.input ?? 0).not.toBe(7);
});

test.each([
  ['00:00:00,000 --> 00:00:29,500', 500],
  ['00:59:58.000 --> 00:59:59.000\n\n00:59:59.000 --> 01:00:00.000', 60_017],
  ['10:00:00.000 --> 10:01:59.900', 602_000],
])('subtitles that end with %j are as long as the last moment they name', async (words, input) => {
  const parsed = {
    operation: 'transcriptions',
    form: null,
    body: { response_format: 'srt' },
  } as unknown as ParsedRequest;
  const noop = { count: () => Promise.reject(new Error('no words are counted')) } as unknown as TokenCounter;
  expect(await countLocally(noop, parsed, { body: null, text: deliveredTextOf([words]) })).toMatchObject({
    input,
    output: 0,
  });
});

test('subtitles that end before the sound does are as long as the sound', async () => {
  // 8,000 bytes a second, one minute; the last word is said in the first second.
  const head = Buffer.from(
    '524946460000000057415645666d742010000000010001004 01f0000401f00000100080064617461'.replaceAll(' ', ''),
    'hex',
  );
  const file = Buffer.concat([head, Buffer.from([0, 0x53, 0x07, 0]), Buffer.alloc(480_000)]);
  const parsed = {
    operation: 'transcriptions',
    form: { seconds: () => audioSeconds(file, file.length) },
    body: { response_format: 'srt' },
  } as unknown as ParsedRequest;
  const noop = { count: () => Promise.reject(new Error('no words are counted')) } as unknown as TokenCounter;
  const text = deliveredTextOf(['00:00:00,000 --> 00:00:01,000']);
  expect((await countLocally(noop, parsed, { body: null, text })).input).toBeGreaterThanOrEqual(1000);
});

test('subtitles take nothing off a recording of a form that is not measured', async () => {
  // 75,000 bytes at the thinnest rate: 100 s. The last word is said in the first second.
  const file = new Uint8Array(75_000);
  const parsed = {
    operation: 'transcriptions',
    form: { seconds: () => audioSeconds(file, file.length) },
    body: { response_format: 'srt' },
  } as unknown as ParsedRequest;
  const noop = { count: () => Promise.reject(new Error('no words are counted')) } as unknown as TokenCounter;
  const inputOf = async (...texts: readonly string[]) =>
    (await countLocally(noop, parsed, { body: null, text: deliveredTextOf(texts) })).input;
  expect(await inputOf('00:00:00,000 --> 00:00:01,000')).toBe(await inputOf());
  expect(await inputOf('00:09:00,000 --> 00:09:59,000')).toBe(10_000);
});

test('each document of a ranking is reserved for together with the question', () => {
  const promptTokens = (query: string, documents: number) => {
    const body = { model: 'm', query, documents: Array<string>(documents).fill('a text') };
    const parsed = { operation: 'rerank', model: 'm', body, json: null, prompt: readPrompt(body) };
    const way = { prices: plainPrices(), route: { offers: { promptFactor: 1, promptTokens: 0 } } };
    return estimate(parsed as unknown as ParsedRequest, way as unknown as Parameters<typeof estimate>[1], 0)
      .promptTokens;
  };
  const once = promptTokens('q'.repeat(1000), 1);
  expect(promptTokens('q'.repeat(1000), 11) - once).toBeGreaterThanOrEqual(10 * 3000);
  expect(promptTokens('', 11) - promptTokens('', 1)).toBeLessThan(1000);
});
