/** From "this is who it is" to a session, past the second factor where there is one. */
import type { UserRow } from '../../../db/repositories/users.ts';
import { UserStatus } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { UsersService } from '../users/service.ts';
import type { SecondFactorService } from './second-factor.ts';
import type { SessionsService, Visitor } from './service.ts';
import { createTickets } from './tickets.ts';

const halfWayMs = 5 * 60_000;

/** Inside, or asked for a code first. */
export type Entrance = { readonly user: UserRow; readonly sessionId: string } | { readonly ticket: string };

export type EntranceService = ReturnType<typeof createEntrance>;

export function createEntrance(deps: {
  readonly sessions: SessionsService;
  readonly secondFactor: SecondFactorService;
  readonly users: UsersService;
  readonly now: () => number;
}) {
  const tickets = createTickets<number>(halfWayMs, deps.now);

  const open = async (user: UserRow, visitor: Visitor): Promise<Entrance> => ({
    user,
    sessionId: await deps.sessions.open(user.id, visitor),
  });

  return {
    /** @param proven the way in was itself two factors, as a passkey is. @throws AppError user_disabled */
    async admit(user: UserRow, visitor: Visitor, proven = false): Promise<Entrance> {
      if (user.status !== UserStatus.enabled) throw new AppError('user_disabled');
      if (!proven && (await deps.secondFactor.isOn(user.id))) return { ticket: tickets.issue(user.id) };
      return open(user, visitor);
    },
    /** @throws AppError ticket_late, code_wrong, user_disabled, too_many_attempts. */
    async secondStep(ticket: string, code: string, visitor: Visitor): Promise<Entrance> {
      const userId = tickets.look(ticket);
      if (userId === null) throw new AppError('ticket_late');
      await deps.secondFactor.check(userId, code, visitor.ip);
      tickets.take(ticket);
      const user = await deps.users.find(userId);
      if (user === undefined || user.status !== UserStatus.enabled) throw new AppError('user_disabled');
      return open(user, visitor);
    },
  };
}
