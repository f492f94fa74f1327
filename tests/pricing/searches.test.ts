/** Searches that a ranking takes, by its documents and their lengths. */
import { expect, test } from 'vitest';
import { searchesOf } from '../../server/contract/pricing/searches.ts';

const searches = (documents: number, tokens: number, perDocument = 0) =>
  searchesOf({ question: 10, documents: Array(documents).fill(tokens), perDocument });

test.each([
  ['100 short documents', searches(100, 490), 1],
  ['one more', searches(101, 490), 2],
  ['100 that are longer than what counts once', searches(100, 491), 2],
  ['100 of 2,000 tokens', searches(100, 2000), 5],
  // 4,096 tokens of each are read, unless the request allows more.
  ['100 of 9,000 tokens', searches(100, 9000), 9],
  ['100 of 9,000 tokens, of which 100 may be read', searches(100, 9000, 100), 9],
  ['100 of 9,000 tokens, which may be read', searches(100, 9000, 9000), 19],
  ['no document', searches(0, 0), 1],
])('%s', (_name, found, expected) => {
  expect(found).toBe(expected);
});
