/** Who is behind a call, where guesses are counted and ways into an account are changed. */
import type { UserRow } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import type { AttemptSource } from '../../domain/sessions/throttle.ts';
import type { Call } from '../call.ts';

/** A session that was stolen, or a token, must not make itself a way in that lasts. @throws AppError login_again_needed */
export function needFresh({ meta }: Pick<Call, 'meta'>): void {
  if (!meta.fresh) throw new AppError('login_again_needed');
}

/** @throws AppError user_unknown */
export async function selfOf({ services, actor }: Pick<Call, 'services' | 'actor'>): Promise<UserRow> {
  const user = await services.users.find(actor.userId);
  if (user === undefined) throw new AppError('user_unknown');
  return user;
}

/** The caller as one who tries codes or passwords of the own account. */
export async function attemptSourceOf(call: Pick<Call, 'services' | 'actor' | 'meta'>): Promise<AttemptSource> {
  const { services, meta } = call;
  return {
    ip: meta.ip,
    device: services.devices.nameOf(meta.deviceCookie, await services.users.find(call.actor.userId)),
  };
}
