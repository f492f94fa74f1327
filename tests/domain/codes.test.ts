/** Codes that are typed are short, those that are followed in a link cannot be guessed. */
import { expect, test } from 'vitest';
import { codeSeconds, createCodes } from '../../server/domain/accounts/codes.ts';

test('an address is proven by six characters, a password is set anew by a link of 192 bits', () => {
  const codes = createCodes(() => 0);
  expect(codes.issue('address', 'a@example.com', 'x')).toMatch(/^[^-_]{6}$/);
  const long = codes.issue('reset', 'a@example.com', 'x');
  expect(Buffer.from(long, 'base64url')).toHaveLength(24);
  expect(codes.issue('reset', 'a@example.com', 'x')).not.toBe(long);
  expect(codeSeconds).toBe(180);
});
