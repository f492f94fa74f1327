/** Login and the sessions it makes. A session names a user; the user's row is read again on each request. */
import { randomBytes } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createSessionsRepository, handleOf, type SessionRow } from '../../../db/repositories/sessions.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { Credentials } from '../users/credentials.ts';
import type { Passwords } from '../users/password.ts';
import { hashSecret, type UsersService } from '../users/service.ts';
import { browserOf } from './browser.ts';
import type { Devices } from './devices.ts';
import { createThrottle } from './throttle.ts';

/** Seconds a session lives at most; as the family's cookie. */
export const sessionSeconds = 30 * 24 * 3600;
/** Seconds after a login in which it stands for the person and not only for the browser. */
const freshSeconds = 15 * 60;
/** Seconds between two notes of use. */
const updateIntervalSeconds = 60;
const attempts = { seconds: 600, perAddress: 50, perSubject: 5, anonymous: 30, everyone: 5000 };
/** Answers to wrong credentials come no sooner: hashes of different kinds take different times. */
const minMs = 400;

/** The browser that wants in. */
export interface LoginClient {
  readonly ip: string;
  readonly userAgent: string;
  /** What the browser remembers of accounts it was inside, '' = nothing. */
  readonly deviceCookie: string;
  /** Hash of the session the browser had before, '' = none; it ends. */
  readonly previous?: string;
}

export interface LoginDetails extends LoginClient {
  readonly username: string;
  readonly password: string;
}

export type SessionsService = ReturnType<typeof createSessions>;

export function createSessions(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly users: UsersService;
  readonly passwords: Passwords;
  readonly credentials: Credentials;
  readonly devices: Devices;
  readonly passwordLogin: () => boolean;
  /** Hours without a request after which a session ends, 0 = never. */
  readonly idleHours: () => number;
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}) {
  const repository = createSessionsRepository(deps.database);
  const throttle = createThrottle('log-ins', attempts, deps);
  const seconds = () => Math.floor(deps.now() / 1000);
  const idleSince = (): number => {
    const hours = deps.idleHours();
    return hours === 0 ? -1 : seconds() - hours * 3600;
  };
  const view = (row: SessionRow, current: string | null) => ({
    id: handleOf(row.id_hash),
    browser: browserOf(row.user_agent),
    user_agent: row.user_agent,
    ip: row.ip,
    created_time: row.created_at,
    last_seen_time: row.last_seen_at,
    expired_time: row.expires_at,
    current: row.id_hash === current,
  });

  return {
    /** Who the name and the password belong to. @throws AppError password_login_disabled, credentials_*, too_many_attempts. */
    async identify(details: LoginDetails): Promise<UserRow> {
      if (!deps.passwordLogin()) throw new AppError('password_login_disabled');
      // As registration stores it.
      const username = details.username.normalize('NFC').trim();
      if (username === '' || details.password === '') throw new AppError('credentials_empty');
      const device = deps.devices.nameOf(details.deviceCookie, await deps.users.findByLogin(username));
      const guesser = { ip: details.ip, device };
      await throttle.enter(guesser, username);
      const pause = deps.pause(minMs);
      // Read after the wait: it may be another by now.
      const user = await deps.users.findByLogin(username);
      // An unknown user costs as long as a known one.
      const right = await deps.passwords.verify(details.password, user?.password_hash ?? deps.passwords.dummyHash);
      if (user === undefined || !right || user.status !== UserStatus.enabled) {
        await pause;
        throw new AppError('credentials_wrong');
      }
      await throttle.succeeded(guesser, username);
      return deps.credentials.modernise(user, details.password);
    },
    /** @param user as it was when it was identified. @returns the session's id, to be given to the browser once. @throws AppError ticket_late when its password was changed meanwhile. */
    async open(user: UserRow, loginClient: LoginClient): Promise<string> {
      const id = randomBytes(32).toString('base64url');
      const now = seconds();
      const row = {
        id_hash: hashSecret(id),
        user_id: user.id,
        created_at: now,
        last_seen_at: now,
        expires_at: now + sessionSeconds,
        ip: loginClient.ip,
        user_agent: loginClient.userAgent.slice(0, 200),
      };
      if (!(await repository.create(row, user.password_hash))) throw new AppError('ticket_late');
      if (loginClient.previous !== undefined && loginClient.previous !== '')
        await repository.remove(loginClient.previous);
      return id;
    },
    /** @param ip where the request comes from, '' = not known. */
    async userOf(
      id: string,
      ip: string,
    ): Promise<{ readonly user: UserRow; readonly hash: string; readonly openedAt: number } | null> {
      const hash = hashSecret(id);
      const session = await repository.find(hash, seconds(), idleSince());
      if (session === undefined) return null;
      const user = await deps.users.find(session.user_id);
      if (user === undefined) return null;
      if (seconds() - session.last_seen_at >= updateIntervalSeconds) await repository.seen(hash, seconds(), ip);
      return { user, hash, openedAt: session.created_at };
    },
    /** @param openedAt epoch seconds of the login that made the session. */
    isFresh: (openedAt: number): boolean => seconds() - openedAt < freshSeconds,
    /** @param current hash of the session that asks, null = none. */
    list: async (userId: number, current: string | null) =>
      (await repository.list(userId, seconds(), idleSince())).map((row) => view(row, current)),
    /** @param handle its id in the list. @throws AppError not_found */
    async end(userId: number, handle: string): Promise<void> {
      if (!(await repository.removeNamed(userId, handle))) throw new AppError('not_found', { what: 'session' });
    },
    /** @param except hash of the session that stays, '' = none. @returns how many ended. */
    endAll: (userId: number, except: string): Promise<number> => repository.removeOfUser(userId, except),
    logout: repository.remove,
    deleteExpired: () => repository.removeExpired(seconds(), idleSince()),
  };
}
