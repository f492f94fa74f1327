/** Small rules that all dialects share, at their edges. */
import { expect, test } from 'vitest';
import { encodeUsage } from '../../server/protocols/anthropic-messages/usage.ts';
import type { Usage } from '../../server/protocols/canonical.ts';
import { readAnnotations, urlCitations } from '../../server/protocols/shared/citations.ts';
import { detailCount, emptyUsage, readTerms, termValue, tokenCounts } from '../../server/protocols/shared/usage.ts';

const citation = (more: object) => ({
  url: 'https://a.example',
  title: null,
  quote: null,
  start: null,
  end: null,
  dialect: 'openai-chat' as const,
  raw: {},
  ...more,
});

test('a source without a place stands for its whole text, one without an address for nothing', () => {
  const url = 'https://a.example';
  expect(urlCitations([citation({})], 12)).toEqual([{ start_index: 0, end_index: 12, url, title: url }]);
  expect(urlCitations([citation({ start: 2, end: 5, title: 'A' })], 12)).toEqual([
    { start_index: 2, end_index: 5, url, title: 'A' },
  ]);
  expect(urlCitations([citation({ start: 2 }), citation({ url: null })], 12, 100)).toEqual([
    { start_index: 102, end_index: 112, url, title: url },
  ]);
});

test.each([
  [{ type: 'url_citation', url_citation: { url: 'u', title: 't', content: 'q', start_index: 1, end_index: 2 } }],
  [{ type: 'url_citation', url: 'u', title: 't', content: 'q', start_index: 1, end_index: 2 }],
])('an annotation is read nested and flat: %j', (annotation) => {
  expect(readAnnotations([annotation], 'openai-chat')).toEqual([
    { url: 'u', title: 't', quote: 'q', start: 1, end: 2, dialect: 'openai-chat', raw: annotation },
  ]);
  expect(readAnnotations('none', 'openai-chat')).toEqual([]);
});

test.each([
  ['priority', 'priority'],
  ['PRIORITY', 'priority'],
  ['SERVICE_TIER_FLEX', 'flex'],
  ['service_tier_', ''],
  ['', null],
  ['x'.repeat(64), 'x'.repeat(64)],
  ['x'.repeat(65), null],
  [7, null],
  [null, null],
])('the term %j is %j', (value, expected) => expect(termValue(value)).toBe(expected));

test('terms that an answer reports, and nothing where it reports none', () => {
  expect(readTerms({ service_tier: 'Flex', speed: undefined, region: 'us' })).toEqual({
    terms: { service_tier: 'flex', region: 'us' },
  });
  expect(readTerms({ service_tier: null, speed: '' })).toBeUndefined();
});

test.each([
  [0, 0],
  [7, 7],
  [-1, 0],
  [1.5, 0],
  ['7', 0],
  [undefined, 0],
  [Number.NaN, 0],
  [1e15, 0],
])('the detail %j counts as %d', (value, expected) => {
  expect(detailCount(value)).toBe(expected);
  // What is absent is nothing, what is no count makes the whole list unbelievable.
  expect(tokenCounts([1, value])).toEqual(value === undefined || value === expected ? [1, expected] : null);
});

const plain = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
test.each([
  [
    { input: 3, output: 4 },
    { ...plain, input_tokens: 3, output_tokens: 4 },
  ],
  [
    { input: 1, audioInput: 2, imageInput: 4, audioOutput: 8 },
    { ...plain, input_tokens: 7, output_tokens: 8 },
  ],
  [
    { reasoning: 5, output: 1 },
    { ...plain, output_tokens: 6, output_tokens_details: { thinking_tokens: 5 } },
  ],
  [
    { cacheRead: 2, cacheWrite5m: 3 },
    { ...plain, cache_creation_input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 0 },
  ],
  [
    { cacheWrite5m: 3, cacheWrite1h: 1 },
    {
      ...plain,
      cache_creation_input_tokens: 4,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 1 },
      output_tokens: 0,
    },
  ],
  [{ toolCalls: { web_search: 1 } }, { ...plain, output_tokens: 0, server_tool_use: { web_search_requests: 1 } }],
  [{ toolCalls: { google_search: 2 } }, { ...plain, output_tokens: 0, server_tool_use: { web_search_requests: 2 } }],
  [{ toolCalls: { web_search: 0 } }, { ...plain, output_tokens: 0 }],
])('%j in Anthropic’s words is %j', (usage, expected) => {
  expect(encodeUsage({ ...emptyUsage, ...usage } as Usage)).toEqual(expected);
});

test('before anything is known the prompt is an estimate and the answer has begun', () => {
  expect(encodeUsage(null, 12)).toEqual({ ...plain, input_tokens: 12, output_tokens: 1 });
  expect(encodeUsage(null)).toEqual({ ...plain, output_tokens: 1 });
});
