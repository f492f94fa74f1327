/** Takes the account of another service off an account here, without locking its owner out. */
import type { Database } from '../../../db/open.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import { type AttemptSource, createThrottle, type DelayDeps } from '../sessions/throttle.ts';
import { type BoundService, boundServices, type LoginMethods } from '../users/login-methods.ts';
import type { Passwords } from '../users/password.ts';

export type Disconnect = ReturnType<typeof createDisconnect>;

const attempts = { seconds: 600, perAddress: 50, perSubject: 5, anonymous: 30, everyone: 5000 };

export function createDisconnect(
  deps: { readonly database: Database; readonly passwords: Passwords; readonly loginMethods: LoginMethods } & DelayDeps,
) {
  const users = createUsersRepository(deps.database);
  const throttle = createThrottle('unbinding', attempts, deps);

  /** @param password needed for the last way in, '' = none given. @throws AppError oauth_unbound, oauth_last, oauth_only, user_password_wrong, too_many_attempts. */
  return async (userId: number, service: BoundService, password: string, guesser: AttemptSource): Promise<void> => {
    const { column, name } = boundServices[service];
    const user = await users.find(userId);
    if (user === undefined) throw new AppError('user_unknown');
    if (user[column] === '') throw new AppError('oauth_unbound', { name });
    if (!(await deps.loginMethods.besides(user, { service }))) {
      // A random password, or a password login that is off, is no way back in.
      if (user.password_made === 1 || !deps.loginMethods.byPassword()) throw new AppError('oauth_only');
      if (password === '') throw new AppError('oauth_last');
      await throttle.enter(guesser, String(userId));
      if (!(await deps.passwords.verify(password, user.password_hash))) throw new AppError('user_password_wrong');
      await throttle.succeeded(guesser, String(userId));
    }
    await users.setIdentity(userId, { column, id: '', issuer: '' });
  };
}
