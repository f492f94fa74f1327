/** From a proven person to the answer of a login. */
import type { LoginResult } from '../../domain/sessions/login-completion.ts';
import { type LoginClient, sessionSeconds } from '../../domain/sessions/service.ts';
import { userView } from '../../domain/users/wire.ts';
import type { Call, CallMeta } from '../call.ts';

export const loginClientOf = (meta: CallMeta): LoginClient => ({
  ip: meta.ip,
  userAgent: meta.userAgent,
  deviceCookie: meta.deviceCookie,
  previous: meta.sessionHash ?? '',
});

/** Gives the browser its session, or the ticket for the second step. */
export function replyLogin(result: LoginResult, { reply }: Pick<Call, 'reply'>) {
  if ('ticket' in result) return { require_2fa: true as const, ticket: result.ticket };
  reply.setSession(result.sessionId, sessionSeconds);
  reply.setDevice(result.deviceCookie);
  return userView(result.user);
}
