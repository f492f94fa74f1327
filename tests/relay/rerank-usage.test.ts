import { expect, test } from 'vitest';
import { codecFor } from '../../server/protocols/registry.ts';
import type { TokenCounter } from '../../server/relay/admission/counting/counter.ts';
import { countLocally, reportedUsage } from '../../server/relay/admission/meter.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { deliveredTextOf } from '../../server/relay/shared/delivered-text.ts';

const told = (operation: string, total: unknown) =>
  reportedUsage({ operation } as ParsedRequest, codecFor('openai-chat').upstream, {
    results: [],
    usage: { total_tokens: total },
  });

test('an answer of a ranking that tells the whole alone: what it read; nothing told is nothing known', () => {
  expect(told('rerank', 7)).toMatchObject({ input: 7, output: 0 });
  for (const none of [0, -1, null, 'many', undefined]) expect(told('rerank', none), String(none)).toBeNull();
  expect(told('embeddings', 7)?.input ?? 0).not.toBe(7);
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
  expect(await countLocally(noop, parsed, { body: null, told: deliveredTextOf([words]) })).toMatchObject({
    input,
    output: 0,
  });
});
