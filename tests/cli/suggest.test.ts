import { expect, test } from 'vitest';
import { bestMatch } from '../../cli/parts/suggest.ts';

test.each([
  ['opnai', 'openai'],
  // Neighbours that were swapped are one slip.
  ['oepnai', 'openai'],
  ['OPENAI', 'openai'],
  ['x', null],
  ['xy', null],
  ['nothing', null],
  ['aw', 'aws'],
])('%s is taken for %s', (typed, meant) => {
  expect(bestMatch(typed, ['openai', 'gemini', 'aws'])).toBe(meant);
});
