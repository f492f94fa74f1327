/** Takes the account of another service off an account here, without locking its owner out. */
import type { Database } from '../../../db/open.ts';
import { createPasskeysRepository } from '../../../db/repositories/passkeys.ts';
import { createUsersRepository, type IdentityColumn, type UserRow } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import { createThrottle } from '../sessions/throttle.ts';
import type { Passwords } from '../users/passwords.ts';

const services = {
  github: { column: 'github_id', name: 'GitHub' },
  oidc: { column: 'oidc_id', name: 'OIDC' },
  linuxdo: { column: 'linux_do_id', name: 'Linux DO' },
  wechat: { column: 'wechat_id', name: '微信' },
  telegram: { column: 'telegram_id', name: 'Telegram' },
} as const satisfies Record<string, { readonly column: IdentityColumn; readonly name: string }>;

export type BoundService = keyof typeof services;
export type Unbind = ReturnType<typeof createUnbind>;

/** Passwords tried in ten minutes. */
const guesses = { seconds: 600, perAddress: 50, perSubject: 10, everybody: 5000 };

export function createUnbind(deps: { readonly database: Database; readonly passwords: Passwords }) {
  const users = createUsersRepository(deps.database);
  const passkeys = createPasskeysRepository(deps.database);
  const throttle = createThrottle(guesses);

  /** Accounts made by another service have a password nobody knows; an address can be sent a new one. */
  const otherWay = async (user: UserRow, column: IdentityColumn): Promise<boolean> =>
    user.email !== '' ||
    Object.values(services).some((one) => one.column !== column && user[one.column] !== '') ||
    (await passkeys.list(user.id)).length > 0;

  /** @param password needed for the last way in, '' = none given. @throws AppError oauth_unbound, oauth_last, user_password_wrong, too_many_attempts. */
  return async (userId: number, service: BoundService, password: string, ip: string): Promise<void> => {
    const { column, name } = services[service];
    const user = await users.find(userId);
    if (user === undefined) throw new AppError('user_unknown');
    if (user[column] === '') throw new AppError('oauth_unbound', { name });
    if (!(await otherWay(user, column))) {
      if (password === '') throw new AppError('oauth_last');
      await throttle.spend(ip, String(userId));
      if (!(await deps.passwords.verify(password, user.password_hash))) throw new AppError('user_password_wrong');
    }
    await users.setIdentity(userId, column, '');
  };
}
