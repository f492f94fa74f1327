/** What a handler may do to the HTTP answer: the session cookie and headers. */
import type { CookieOptions, Request, Response } from 'express';
import { secureSessionCookie, sessionCookie, stateCookie } from './authenticate.ts';
import type { Reply } from './call.ts';

const cookie: CookieOptions = { httpOnly: true, sameSite: 'lax', path: '/' };

const stateMaxAgeMs = 10 * 60_000;

/** The page itself says how it was loaded; whoever lies here weakens only a cookie of their own. */
const overTls = (request: Request): boolean =>
  request.header('x-forwarded-proto') === 'https' || (request.header('origin') ?? '').startsWith('https://');

export const replyTo = (request: Request, response: Response): Reply => ({
  setSession(id, maxAgeSeconds) {
    const maxAge = maxAgeSeconds * 1000;
    if (overTls(request)) response.cookie(secureSessionCookie, id, { ...cookie, secure: true, maxAge });
    else response.cookie(sessionCookie, id, { ...cookie, maxAge });
  },
  clearSession() {
    response.clearCookie(sessionCookie, cookie);
    response.clearCookie(secureSessionCookie, { ...cookie, secure: true });
  },
  setState(state) {
    response.cookie(stateCookie, state, {
      ...cookie,
      maxAge: stateMaxAgeMs,
      path: '/api/oauth',
      secure: overTls(request),
    });
  },
  say(message) {
    response.locals.message = message;
  },
  header: (name, value) => void response.setHeader(name, value),
});
