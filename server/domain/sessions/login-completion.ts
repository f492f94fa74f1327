/** From "this is who it is" to a session, past the second factor where there is one. */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { Vault } from '../secrets/vault.ts';
import type { UsersService } from '../users/service.ts';
import type { Devices } from './devices.ts';
import { createOneTimeTokens } from './one-time-tokens.ts';
import type { SecondFactorService } from './second-factor.ts';
import type { LoginClient, SessionsService } from './service.ts';

const pendingMs = 5 * 60_000;

interface PendingLogin {
  readonly userId: number;
  readonly passwordHash: string;
}

export interface OpenedSession {
  readonly user: UserRow;
  readonly sessionId: string;
  /** What the browser is to remember of having been inside. */
  readonly deviceCookie: string;
}

/** Inside, or asked for a code first. */
export type LoginResult = OpenedSession | { readonly ticket: string };

export type LoginCompletion = ReturnType<typeof createLoginCompletion>;

export function createLoginCompletion(deps: {
  readonly sessions: SessionsService;
  readonly secondFactor: SecondFactorService;
  readonly users: UsersService;
  readonly devices: Devices;
  readonly vault: Vault;
  readonly store: EphemeralStore;
  readonly now: () => number;
}) {
  const oneTimeTokens = createOneTimeTokens<PendingLogin>('half-way', pendingMs, deps);

  const open = async (user: UserRow, loginClient: LoginClient): Promise<OpenedSession> => {
    if (user.status !== UserStatus.enabled) throw new AppError('user_disabled');
    return {
      user,
      sessionId: await deps.sessions.open(user, loginClient),
      deviceCookie: deps.devices.store(loginClient.deviceCookie, user),
    };
  };

  return {
    /** Of a way in that is itself two factors, as a passkey is. @throws AppError user_disabled */
    open,
    /** @throws AppError user_disabled */
    async admit(user: UserRow, loginClient: LoginClient): Promise<LoginResult> {
      if (user.status === UserStatus.enabled && (await deps.secondFactor.isOn(user.id)))
        return { ticket: oneTimeTokens.issue({ userId: user.id, passwordHash: user.password_hash }) };
      return open(user, loginClient);
    },
    /** @throws AppError ticket_late, code_wrong, user_disabled, too_many_attempts. */
    async secondStep(ticket: string, code: string, loginClient: LoginClient): Promise<OpenedSession> {
      const pending = await oneTimeTokens.peek(ticket);
      if (pending === null) throw new AppError('ticket_late');
      const user = await deps.users.find(pending.userId);
      if (user === undefined || user.status !== UserStatus.enabled) throw new AppError('user_disabled');
      // The first step of the login must still be valid.
      if (user.password_hash !== pending.passwordHash) throw new AppError('ticket_late');
      const device = deps.devices.nameOf(loginClient.deviceCookie, user);
      await deps.secondFactor.check(user.id, code, { ip: loginClient.ip, device });
      if ((await oneTimeTokens.take(ticket)) === null) throw new AppError('ticket_late');
      return open(user, loginClient);
    },
  };
}
