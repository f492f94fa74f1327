/**
 * New passwords. One that was set by an administrator, or that came by letter, ends everything that opened the account before:
 * sessions, the full-access token, access tokens with scopes, passkeys, and programs that signed in. API keys stay: they belong to programs and open no account.
 */

import type { Database } from '../../../db/open.ts';
import { createCredentialsRepository } from '../../../db/repositories/credentials.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import type { Passwords } from './password.ts';

export type Credentials = ReturnType<typeof createCredentials>;

export function createCredentials(deps: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly now: () => number;
}) {
  const repository = createCredentialsRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);
  return {
    /** A reset. @throws AppError user_changed_meanwhile */
    async replace(userId: number, password: string): Promise<void> {
      const passwordHash = await deps.passwords.hash(password);
      if (!(await repository.replace(userId, null, { passwordHash, keepSession: '', all: true, now: seconds() })))
        throw new AppError('user_changed_meanwhile');
    },
    /** The user's own change. @param keepSession hash of the session that stays, '' = none. @throws AppError user_changed_meanwhile */
    async change(user: UserRow, password: string, keepSession: string, all: boolean): Promise<void> {
      const passwordHash = await deps.passwords.hash(password);
      if (!(await repository.replace(user.id, user.password_hash, { passwordHash, keepSession, all, now: seconds() })))
        throw new AppError('user_changed_meanwhile');
    },
    /** Imported hashes are of an older kind. @returns the user as it is now. */
    async modernise(user: UserRow, password: string): Promise<UserRow> {
      if (deps.passwords.isCurrent(user.password_hash)) return user;
      const hash = await deps.passwords.hash(password);
      return (await repository.rehash(user.id, user.password_hash, hash)) ? { ...user, password_hash: hash } : user;
    },
  };
}
