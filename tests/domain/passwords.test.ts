import { expect, test } from 'vitest';
import { createPasswords } from '../../server/domain/users/password.ts';

test('new hashes are argon2id at the full cost, and no two are alike', async () => {
  const passwords = createPasswords();
  const [one, two] = await Promise.all([passwords.hash('password1'), passwords.hash('password1')]);
  expect(one).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,/);
  expect(one).not.toBe(two);
  expect(await passwords.verify('password1', one)).toBe(true);
  expect(await passwords.verify('password2', one)).toBe(false);
});

test('imported bcrypt hashes are good, nonsense is not an error', async () => {
  const passwords = createPasswords();
  const imported = (await Bun.password.hash('password1', { algorithm: 'bcrypt', cost: 4 })).replace(/^\$2b/, '$2a');
  expect(await passwords.verify('password1', imported)).toBe(true);
  for (const hash of ['', 'plain', '$argon2id$', '$2a$']) expect(await passwords.verify('plain', hash)).toBe(false);
});

test('the decoy for unknown users is a hash of the full cost that no password opens', async () => {
  const { dummyHash, isCurrent, verify } = createPasswords();
  expect(dummyHash).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,/);
  expect(isCurrent(dummyHash)).toBe(true);
  // What is no hash would be refused at once, and the answer would come sooner than for a known user.
  expect(await Bun.password.verify('', dummyHash)).toBe(false);
  expect(await verify('no such user', dummyHash)).toBe(false);
});
