/** Codes that are typed are short, those that are followed in a link cannot be guessed. */
import { expect, test } from 'vitest';
import { codeSeconds, createCodes } from '../../server/domain/accounts/codes.ts';
import { ownMemos } from '../support/memos.ts';

test('an address is proven by six characters, a password is set anew by a link of 192 bits', async () => {
  const codes = createCodes(ownMemos(), () => 0);
  expect(await codes.issue('address', 'a@example.com', 'x')).toMatch(/^[^-_]{6}$/);
  const long = await codes.issue('reset', 'a@example.com', 'x');
  expect(Buffer.from(long, 'base64url')).toHaveLength(24);
  expect(await codes.issue('reset', 'a@example.com', 'x')).not.toBe(long);
  expect(codeSeconds).toBe(180);
});
