/** What people do with their own account. */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createUsersRepository, type UserRow } from '../../../db/repositories/users.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { SecondFactorService } from '../sessions/second-factor.ts';
import { type AttemptSource, createThrottle } from '../sessions/throttle.ts';
import type { Credentials } from './credentials.ts';
import type { Passwords } from './password.ts';
import { checkDisplayName, checkPassword } from './rules.ts';

/** Absent = unchanged; every other field of a record that a console sends back is left alone. */
export interface AccountEdit {
  /** Another than the present one is refused. */
  readonly username?: string | undefined;
  readonly display_name?: string | undefined;
  /** '' = unchanged. */
  readonly password?: string | undefined;
  /** The present password; it or a code proves who changes it. */
  readonly original_password?: string | undefined;
  /** The code of the second factor. */
  readonly code?: string | undefined;
  /** Whether access tokens and passkeys end too; absent = yes. Other sessions always do. */
  readonly end_all?: boolean | undefined;
}

/** Who edits the own account. */
export interface Editor extends AttemptSource {
  /** Hash of the session that asks and stays, '' = none. */
  readonly sessionHash: string;
  /** The session was opened a moment ago. */
  readonly fresh: boolean;
}

const attempts = { seconds: 600, perAddress: 50, perSubject: 5, anonymous: 30, everyone: 5000 };

export type AccountService = ReturnType<typeof createAccount>;

export function createAccount(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly passwords: Passwords;
  readonly credentials: Credentials;
  readonly secondFactor: SecondFactorService;
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}) {
  const repository = createUsersRepository(deps.database);
  const throttle = createThrottle('passwords', attempts, deps);

  const find = async (id: number): Promise<UserRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('user_unknown');
    return row;
  };

  /** The present password, a code of the second factor or, where there is none, a login of a moment ago. */
  const prove = async (row: UserRow, edit: AccountEdit, editor: Editor): Promise<void> => {
    const { original_password: original = '', code = '' } = edit;
    if (original === '' && code !== '') return deps.secondFactor.check(row.id, code, editor);
    if (original === '') {
      if (await deps.secondFactor.isOn(row.id)) throw new AppError('password_proof_needed');
      // The family's console sends the new password alone.
      if (editor.fresh) return;
      // A program with a token can log in nowhere, but it may know the password.
      throw new AppError(
        editor.sessionHash === '' && row.password_made === 0 ? 'password_proof_needed' : 'login_again_needed',
      );
    }
    await throttle.enter(editor, String(row.id));
    if (!(await deps.passwords.verify(original, row.password_hash))) throw new AppError('user_password_wrong');
    await throttle.succeeded(editor, String(row.id));
  };

  return {
    /** @throws AppError self_username, input_invalid, password_proof_needed, login_again_needed, user_password_wrong, code_wrong, user_changed_meanwhile, too_many_attempts. */
    async update(id: number, edit: AccountEdit, editor: Editor): Promise<void> {
      const row = await find(id);
      if ((edit.username ?? '') !== '' && edit.username !== row.username) throw new AppError('self_username');
      const password = edit.password ?? '';
      const name = edit.display_name === undefined ? row.display_name : checkDisplayName(edit.display_name);
      if (password !== '') {
        checkPassword(password);
        await prove(row, edit, editor);
        await deps.credentials.change(row, password, editor.sessionHash, edit.end_all ?? true);
      }
      if (name !== row.display_name && !(await repository.update(id, row.role, { display_name: name })))
        throw new AppError('user_changed_meanwhile');
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
