/** From a proven person to the answer of a login. */
import type { LoginResult, OpenedSession } from '../../domain/sessions/login-completion.ts';
import { type LoginClient, sessionSeconds } from '../../domain/sessions/service.ts';
import { userView } from '../../domain/users/wire.ts';
import type { Call, CallMeta } from '../call.ts';

export const loginClientOf = (meta: CallMeta): LoginClient => ({
  ip: meta.ip,
  userAgent: meta.userAgent,
  deviceCookie: meta.deviceCookie,
  previous: meta.sessionHash ?? '',
});

/** Gives the browser its session. */
export function replySession({ user, sessionId, deviceCookie }: OpenedSession, { reply }: Pick<Call, 'reply'>) {
  reply.setSession(sessionId, sessionSeconds);
  reply.setDevice(deviceCookie);
  return userView(user);
}

/** Gives the browser its session, or the ticket for the second step. */
export const replyLogin = (result: LoginResult, call: Pick<Call, 'reply'>) =>
  'ticket' in result ? { require_2fa: true as const, ticket: result.ticket } : replySession(result, call);
