/** Who may act on whom, and what the actions of user management do. The only place that compares roles of two people. */
import { Role, UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';

export interface Rank {
  readonly role: number;
}

/** Strictly above the other, or the super administrator. */
export const canActOn = (actor: Rank, target: Rank): boolean => actor.role > target.role || actor.role >= Role.root;

/** Somebody who had a document given away, or mailed, earlier. */
interface Giver extends Rank {
  readonly id: number;
  readonly status: number;
}

/**
 * Whether he may still: what is his own, and as an administrator that of nobody in particular and of whom he may act on.
 * @param giver undefined = he is gone. @param owner undefined = he is gone, or it is nobody's in particular.
 */
export const mayStillGive = (giver: Giver | undefined, ownerId: number, owner: Rank | undefined): boolean =>
  giver?.status === UserStatus.enabled &&
  (giver.id === ownerId || (giver.role >= Role.admin && (owner === undefined || canActOn(giver, owner))));

export const userActions = ['disable', 'enable', 'delete', 'promote', 'demote'] as const;
export type UserAction = (typeof userActions)[number];

export interface ActionEffect {
  readonly role?: number;
  readonly status?: number;
  readonly closes?: boolean;
}

/**
 * No action raises anybody to the actor's own level or above: promotion ends at administrator and is the super administrator's.
 * @throws AppError user_rank_update, user_root_*, user_promote_root_only, user_is_*.
 */
export function effectOf(action: UserAction, actor: Rank, target: Rank): ActionEffect {
  if (!canActOn(actor, target)) throw new AppError('user_rank_update');
  const isRoot = target.role >= Role.root;
  switch (action) {
    case 'disable':
      if (isRoot) throw new AppError('user_root_disable');
      return { status: UserStatus.disabled };
    case 'enable':
      return { status: UserStatus.enabled };
    case 'delete':
      if (isRoot) throw new AppError('user_root_delete');
      return { closes: true };
    case 'promote':
      if (actor.role < Role.root) throw new AppError('user_promote_root_only');
      if (target.role >= Role.admin) throw new AppError('user_is_admin');
      return { role: Role.admin };
    case 'demote':
      if (isRoot) throw new AppError('user_root_demote');
      if (target.role <= Role.user) throw new AppError('user_is_plain');
      return { role: Role.user };
  }
}
