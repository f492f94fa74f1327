/** The slow part of passwords, done before a transaction begins: the database is not locked while they are hashed. */
import type { UserRow } from '../../../db/repositories/users.ts';
import type { ProvisionedUser } from '../../contract/provision.ts';
import type { Passwords } from '../users/password.ts';

export async function preparePasswords(
  passwords: Passwords,
  users: readonly ProvisionedUser[],
  find: (login: string) => Promise<UserRow | undefined>,
): Promise<Passwords> {
  const hashes = new Map<string, string>();
  const verified = new Map<string, boolean>();
  for (const { username, password } of users) {
    if (password === undefined || password === '') continue;
    const row = await find(username);
    const right = row !== undefined && (await passwords.verify(password, row.password_hash));
    if (row !== undefined) verified.set(`${row.password_hash} ${password}`, right);
    if (!right) hashes.set(password, await passwords.hash(password));
  }
  return {
    isCurrent: passwords.isCurrent,
    dummyHash: passwords.dummyHash,
    hash: async (password) => hashes.get(password) ?? passwords.hash(password),
    verify: async (password, hash) => verified.get(`${hash} ${password}`) ?? passwords.verify(password, hash),
  };
}
