/** Who an API request comes from: session cookie or management access token, with the user-id header and a same-origin proof. */
import type { Request } from 'express';
import type { UserRow } from '../../db/repositories/users.ts';
import { UserStatus } from '../contract/enums.ts';
import { AppError } from '../contract/errors.ts';
import type { Services } from '../services.ts';
import { type Actor, anonymous } from './call.ts';

export const sessionCookie = 'session';

export interface Identity {
  readonly actor: Actor;
  readonly sessionHash: string | null;
}

const actorOf = (user: UserRow, via: 'session' | 'access_token'): Actor => ({
  via,
  userId: user.id,
  username: user.username,
  role: user.role,
  group: user.group_name,
});

/** @param needed the endpoint is not public. @param changes it alters state. @throws AppError login_required and its kin, cross_site. */
export async function authenticate(
  request: Request,
  services: Services,
  needed: boolean,
  changes: boolean,
): Promise<Identity> {
  const sessionId = cookieOf(request.headers.cookie ?? '', sessionCookie);
  const session = sessionId === null ? null : await services.sessions.userOf(sessionId);
  if (session !== null) {
    checkUser(session.user);
    if (needed || changes) {
      if (needed) checkUserHeader(request, session.user.id);
      if (changes) checkOrigin(request);
    }
    return { actor: actorOf(session.user, 'session'), sessionHash: session.hash };
  }
  const token = request.headers.authorization?.replace(/^bearer\s+/i, '') ?? '';
  if (token === '') {
    if (changes) checkOrigin(request);
    return { actor: anonymous, sessionHash: null };
  }
  const user = await services.users.findByAccessToken(token);
  if (user === undefined) {
    if (needed) throw new AppError('access_token_invalid');
    return { actor: anonymous, sessionHash: null };
  }
  checkUser(user);
  if (needed) checkUserHeader(request, user.id);
  return { actor: actorOf(user, 'access_token'), sessionHash: null };
}

function checkUser(user: UserRow): void {
  if (user.status !== UserStatus.enabled) throw new AppError('user_disabled');
}

function checkUserHeader(request: Request, userId: number): void {
  const given = request.header('new-api-user');
  if (given === undefined || given === '') throw new AppError('user_header_missing');
  if (!/^-?\d+$/.test(given)) throw new AppError('user_header_malformed');
  if (Number(given) !== userId) throw new AppError('user_header_mismatch');
}

/** Browsers say where a request comes from; programs without a browser say nothing and carry no cookies of others. */
function checkOrigin(request: Request): void {
  const site = request.header('sec-fetch-site');
  if (site !== undefined) {
    if (site !== 'same-origin' && site !== 'none') throw new AppError('cross_site');
    return;
  }
  const origin = request.header('origin');
  if (origin === undefined) return;
  if (!URL.canParse(origin) || new URL(origin).host !== request.header('host')) throw new AppError('cross_site');
}

export function cookieOf(header: string, name: string): string | null {
  for (const part of header.split(';')) {
    const [key, value] = part.split('=');
    if (key?.trim() === name) return value?.trim() ?? '';
  }
  return null;
}
