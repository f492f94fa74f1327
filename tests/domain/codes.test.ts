/** Codes that are typed are short, those that are followed in a link cannot be guessed. */
import { expect, test } from 'vitest';
import { codeSeconds, createCodes } from '../../server/domain/accounts/codes.ts';
import { createEmailQuota } from '../../server/domain/accounts/email-quota.ts';
import { localEphemeralStore } from '../support/memos.ts';

test('an address is proven by six characters, a password is reset by a link of 192 bits', async () => {
  const codes = createCodes(localEphemeralStore(), () => 0);
  expect(await codes.issue('address', 'a@example.com', 'x')).toMatch(/^[^-_]{6}$/);
  const long = await codes.issue('reset', 'a@example.com', 'x');
  expect(Buffer.from(long, 'base64url')).toHaveLength(24);
  expect(await codes.issue('reset', 'a@example.com', 'x')).not.toBe(long);
  expect(codeSeconds).toBe(180);
});

test('a mailbox gets five letters at once and then one a minute, for all clients together', async () => {
  let now = 0;
  const postage = createEmailQuota(localEphemeralStore(() => now));
  let userId = 0;
  const allowed = async (asks: number) => {
    let letters = 0;
    for (let ask = 0; ask < asks; ask++)
      if (await postage.allows('reset', 'a@example.com', { ip: '10.0.0.1', device: '', userId: ++userId })) letters++;
    return letters;
  };
  // The letter of this minute comes after the five.
  expect(await allowed(20)).toBe(6);
  now += 60_000;
  expect(await allowed(20)).toBe(1);
  now += 600_000;
  expect(await allowed(20)).toBe(6);
});
