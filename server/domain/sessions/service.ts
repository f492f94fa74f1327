/** Login and the sessions it makes. A session names a user; everything about the user is read anew on each request. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { createSessionsRepository } from '../../../db/repositories/sessions.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { UserStatus } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { Passwords } from '../users/passwords.ts';
import { hashSecret, type UsersService } from '../users/service.ts';
import { createThrottle } from './throttle.ts';

/** Seconds a session lives; as the family's cookie. */
export const sessionSeconds = 30 * 24 * 3600;
/** Guesses in ten minutes. */
const guesses = { seconds: 600, perAddress: 50, perSubject: 10, everybody: 5000 };

/** The browser that wants in. */
export interface Visitor {
  readonly ip: string;
  readonly userAgent: string;
  /** Hash of the session the browser had before, '' = none; it ends. */
  readonly previous?: string;
}

export interface LoginFacts extends Visitor {
  readonly username: string;
  readonly password: string;
}

export type SessionsService = ReturnType<typeof createSessions>;

export function createSessions(deps: {
  readonly database: Database;
  readonly users: UsersService;
  readonly passwords: Passwords;
  readonly passwordLogin: () => boolean;
  readonly now: () => number;
}) {
  const repository = createSessionsRepository(deps.database);
  const throttle = createThrottle(guesses);
  // An unknown user costs as long as a known one.
  const decoy = deps.passwords.hash('no such user');
  const seconds = () => Math.floor(deps.now() / 1000);

  return {
    /** Who the name and the password belong to. @throws AppError password_login_disabled, credentials_*, too_many_attempts. */
    async identify(facts: LoginFacts): Promise<UserRow> {
      if (!deps.passwordLogin()) throw new AppError('password_login_disabled');
      if (facts.username === '' || facts.password === '') throw new AppError('credentials_empty');
      await throttle.spend(facts.ip, facts.username);
      const user = await deps.users.findByLogin(facts.username);
      const right = await deps.passwords.verify(facts.password, user?.password_hash ?? (await decoy));
      if (user === undefined || !right || user.status !== UserStatus.enabled) throw new AppError('credentials_wrong');
      await throttle.forgive(facts.username);
      // Imported hashes are of an older kind.
      if (!deps.passwords.isCurrent(user.password_hash)) await deps.users.setPassword(user.id, facts.password);
      return user;
    },
    /** @returns the session's id, to be given to the browser once. */
    async open(userId: number, visitor: Visitor): Promise<string> {
      const id = randomBytes(32).toString('base64url');
      const now = seconds();
      if (visitor.previous !== undefined && visitor.previous !== '') await repository.remove(visitor.previous);
      await repository.create({
        id_hash: hashSecret(id),
        user_id: userId,
        created_at: now,
        last_seen_at: now,
        expires_at: now + sessionSeconds,
        ip: visitor.ip,
        user_agent: visitor.userAgent.slice(0, 200),
      });
      return id;
    },
    async userOf(id: string): Promise<{ readonly user: UserRow; readonly hash: string } | null> {
      const hash = hashSecret(id);
      const session = await repository.find(hash, seconds());
      if (session === undefined) return null;
      const user = await deps.users.find(session.user_id);
      return user === undefined ? null : { user, hash };
    },
    logout: repository.remove,
    sweep: () => repository.removeExpired(seconds()),
  };
}
