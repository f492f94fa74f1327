/** Search by stems and by other words for the same. */
import { expect, test } from 'vitest';
import { wordScore } from '../../web/lib/word-search.ts';

test.each([
  ['registration', 'Allow new users to register'],
  ['sign up', 'Allow new users to register'],
  ['smtp', 'Mail server'],
  ['e-mail', 'Mail server'],
  ['time zone', 'Timezone of the site'],
  ['backups', 'Hours between backups'],
  ['dark', 'Theme'],
  ['retries', 'Retry limit retries'],
])('"%s" finds "%s"', (needle, text) => {
  expect(wordScore(needle, text)).toBeGreaterThan(0);
});

test('every word has to be there, and the word itself counts more than what is like it', () => {
  expect(wordScore('register mail', 'Allow new users to register')).toBe(0);
  expect(wordScore('xyz', 'Allow new users to register')).toBe(0);
  expect(wordScore('register', 'register')).toBeGreaterThan(wordScore('sign up', 'register'));
});
