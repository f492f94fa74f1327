/** What of a request multiplies its work, by the names that upstreams read, and how far. */
import { expect, test } from 'vitest';
import { longest, maxTimes, ordered } from '../../server/routing/multipliers.ts';

const list = ['a', 'b', 'c'];
test.each([
  ['documents', { documents: list }],
  ['texts', { texts: list }],
  ['passages', { passages: list }],
  ['sources', { sources: list }],
  ['records', { records: list }],
  ['documents within the input', { input: { documents: list } }],
])('a ranking takes as many documents as there are %s', (_name, body) => {
  expect(longest('rerank', 'documents', body)).toEqual(list);
  expect(longest('embeddings', 'documents', body)).toEqual([]);
});

test('the largest of all numbers of answers counts, up to a million', () => {
  expect(ordered('chat', 'answers', {})).toBe(1);
  expect(ordered('chat', 'answers', { n: 2, extra_body: { N: 5 } })).toBe(5);
  expect(ordered('completions', 'answers', { n: 1e12 })).toBe(maxTimes);
});

test('no list counts for more than a million', () => {
  expect(ordered('embeddings', 'texts', { input: Array(maxTimes + 1).fill('a') })).toBe(maxTimes);
});
