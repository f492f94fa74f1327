/** Small rules that all dialects share, at their edges. */
import { expect, test } from 'vitest';
import { readAnnotations, urlCitations } from '../../server/protocols/shared/citations.ts';
import { detailCount, readTerms, termValue, tokenCounts } from '../../server/protocols/shared/usage.ts';

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
