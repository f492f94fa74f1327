/** What people do with their own account. */
import type { Database } from '../../../db/open.ts';
import { createSessionsRepository } from '../../../db/repositories/sessions.ts';
import { createUsersRepository, type UserRow } from '../../../db/repositories/users.ts';
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { Passwords } from './passwords.ts';
import { checkDisplayName, checkPassword } from './rules.ts';

/** Absent = unchanged; every other field of a record that a console sends back is left alone. */
export interface AccountEdit {
  readonly display_name?: string | undefined;
  /** '' = unchanged. */
  readonly password?: string | undefined;
  /** Checked when given. */
  readonly original_password?: string | undefined;
}

export type AccountService = ReturnType<typeof createAccount>;

export function createAccount(deps: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly now: () => number;
}) {
  const repository = createUsersRepository(deps.database);
  const sessions = createSessionsRepository(deps.database);

  const find = async (id: number): Promise<UserRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('user_unknown');
    return row;
  };

  return {
    /**
     * A new password ends every other session of the user.
     * @param sessionHash the session that stays, '' = none.
     * @throws AppError input_invalid, user_password_wrong, user_changed_meanwhile.
     */
    async update(id: number, edit: AccountEdit, sessionHash: string): Promise<void> {
      const row = await find(id);
      const password = edit.password ?? '';
      if (password !== '') {
        checkPassword(password);
        const original = edit.original_password ?? '';
        if (original !== '' && !(await deps.passwords.verify(original, row.password_hash)))
          throw new AppError('user_password_wrong');
      }
      const done = await repository.update(id, row.role, {
        display_name: edit.display_name === undefined ? row.display_name : checkDisplayName(edit.display_name),
        ...(password === '' ? {} : { password_hash: await deps.passwords.hash(password) }),
      });
      if (!done) throw new AppError('user_changed_meanwhile');
      if (password !== '') await sessions.removeOfUser(id, sessionHash);
    },
    /** Closes the account for good. @throws AppError user_root_close */
    async close(id: number): Promise<void> {
      const row = await find(id);
      if (row.role >= Role.root) throw new AppError('user_root_close');
      if (!(await repository.close(id, row.role, Math.floor(deps.now() / 1000))))
        throw new AppError('user_changed_meanwhile');
    },
  };
}
