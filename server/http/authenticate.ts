/** Who an API request comes from: session cookie or management access token, with the user-id header and a same-origin proof. */

import type { Request } from 'express';
import type { UserRow } from '../../db/repositories/users.ts';
import type { Services } from '../app/services.ts';
import { type Language, UserStatus } from '../contract/enum.ts';
import { AppError } from '../contract/errors.ts';
import { isLanguage } from '../contract/language.ts';
import { basePathHeader } from './base-path.ts';
import { type Actor, anonymous, localOwner } from './call.ts';

/** The session; state of a sign-in elsewhere, which only the browser that began it may end; accounts this browser was inside. */
export type CookieName = 'session' | 'oauth_state' | 'device';

/** The path under which the request came, '' = none. */
export function basePathOf({ headers }: Request): string {
  const path = headers[basePathHeader];
  return typeof path === 'string' ? path : '';
}

/**
 * Over TLS the prefix makes browsers refuse a cookie that was set without it or for another path or host. Under a path
 * other applications have the host too and must not get it, so that it cannot be for the whole host.
 */
export const secureName = (name: CookieName, basePath: string): string =>
  `${basePath === '' ? '__Host-' : '__Secure-'}${name}`;

export interface Identity {
  readonly actor: Actor;
  readonly sessionHash: string | null;
  /** The session was opened a moment ago. */
  readonly fresh: boolean;
  /** The user's own choice, null when none was made. */
  readonly language: Language | null;
}

const guest: Identity = { actor: anonymous, sessionHash: null, fresh: false, language: null };
/** Tokens are no proof that a person is there. */
const byToken = { hash: null, fresh: false };

const actorOf = (user: UserRow, via: 'session' | 'access_token', scopes?: readonly string[]): Actor => ({
  via,
  userId: user.id,
  username: user.username,
  role: user.role,
  group: user.group_name,
  ...(scopes === undefined ? {} : { scopes }),
});

/** @param needed the endpoint is not public. @param changes it alters state. @throws AppError login_required and its kin, cross_site. */
export async function authenticate(
  request: Request,
  services: Services,
  needed: boolean,
  changes: boolean,
): Promise<Identity> {
  const sessionId = sessionIdOf(request);
  const ip = request.header('x-gateway-client-ip') ?? '';
  const session = sessionId === null ? null : await services.sessions.userOf(sessionId, ip);
  if (session !== null) {
    if (needed) checkUserHeader(request, session.user.id);
    if (changes) checkOrigin(request, services);
    const { hash, openedAt } = session;
    const actor = actorOf(session.user, 'session');
    return identityOf(session.user, actor, { hash, fresh: services.sessions.isFresh(openedAt) }, needed);
  }
  const token = bearerOf(request);
  if (token === '') {
    if (changes) checkOrigin(request, services);
    return guest;
  }
  const holder = await services.accessTokens.holderOf(token);
  const user =
    holder === null ? await services.users.findByAccessToken(token) : await services.users.find(holder.userId);
  if (user === undefined) {
    if (needed) throw new AppError('access_token_invalid');
    return guest;
  }
  if (needed) checkUserHeader(request, user.id);
  return identityOf(user, actorOf(user, 'access_token', holder?.scopes), byToken, needed);
}

/** @returns '' when nothing stands there. */
export const bearerOf = (request: Request): string =>
  request.headers.authorization?.replace(/^bearer\s+/i, '').trim() ?? '';

/** The owner of the data directory, or a user whose name or id the owner gives: then with that user's rights. @throws AppError not_found */
export async function authenticateOwner(request: Request, services: Services): Promise<Identity> {
  const requested = request.header('x-gateway-as-user') ?? '';
  if (requested === '') return { actor: localOwner, sessionHash: null, fresh: true, language: null };
  const user = /^\d+$/.test(requested)
    ? await services.users.find(Number(requested))
    : await services.users.findByLogin(requested);
  if (user === undefined) throw new AppError('not_found', { what: `user ${requested}` });
  return { actor: actorOf(user, 'access_token'), sessionHash: null, fresh: true, language: languageOf(user) };
}

/** A banned user counts as not logged in: public pages and the logout stay open. */
function identityOf(
  user: UserRow,
  actor: Actor,
  session: { readonly hash: string | null; readonly fresh: boolean },
  needed: boolean,
): Identity {
  const { hash: sessionHash, fresh } = session;
  if (user.status === UserStatus.enabled) return { actor, sessionHash, fresh, language: languageOf(user) };
  if (needed) throw new AppError('user_disabled');
  return { ...guest, sessionHash };
}

/** What the user saved. */
function languageOf(user: UserRow): Language | null {
  const chosen = /"language"\s*:\s*"(\w+)"/.exec(user.setting)?.[1];
  return isLanguage(chosen) ? chosen : null;
}

function sessionIdOf(request: Request): string | null {
  return keptCookie(request, 'session') || null;
}

/** @returns '' when the browser has none. */
export function keptCookie(request: Request, name: CookieName): string {
  const header = request.headers.cookie ?? '';
  return cookieOf(header, secureName(name, basePathOf(request))) ?? cookieOf(header, name) ?? '';
}

function checkUserHeader(request: Request, userId: number): void {
  const given = request.header('new-api-user');
  if (given === undefined || given === '') throw new AppError('user_header_missing');
  if (!/^-?\d+$/.test(given)) throw new AppError('user_header_malformed');
  if (Number(given) !== userId) throw new AppError('user_header_mismatch');
}

/** Browsers say where a request comes from; programs without a browser say nothing and carry no cookies of others. */
function checkOrigin(request: Request, services: Services): void {
  const site = request.header('sec-fetch-site');
  if (site !== undefined) {
    if (site !== 'same-origin' && site !== 'none') throw new AppError('cross_site');
    return;
  }
  const origin = request.header('origin');
  if (origin === undefined) return;
  const host = hostOf(origin);
  // A proxy may have put its own name into Host; the site's address is what the operator says it is.
  const ours = [request.header('host') ?? '', hostOf(services.options.get('ServerAddress'))];
  if (host === '' || !ours.includes(host)) throw new AppError('cross_site');
}

/** An origin has no name and password in front of its host. */
function hostOf(address: string): string {
  if (!URL.canParse(address)) return '';
  const { host, username, password } = new URL(address);
  return username === '' && password === '' ? host : '';
}

function cookieOf(header: string, name: string): string | null {
  for (const part of header.split(';')) {
    const [key, value] = part.split('=');
    if (key?.trim() === name) return value?.trim() ?? '';
  }
  return null;
}
