import { expect, test } from 'vitest';
import { duration } from '../../web/lib/format.ts';

test.each([
  [0.42, '0.4 s'],
  [75, '1 min 15 s'],
  [3600, '1 h'],
  [7260, '2 h 1 min'],
  [194_415.8, '2 d 6 h'],
])('%d seconds read as %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});
