/** What a handler may do to the HTTP answer: cookies and headers. */
import type { CookieOptions, Request, Response } from 'express';
import { deviceSeconds } from '../domain/sessions/devices.ts';
import { type CookieNames, cookies } from './authenticate.ts';
import type { Reply } from './call.ts';

const cookie: CookieOptions = { httpOnly: true, sameSite: 'lax', path: '/' };

const stateMaxAgeMs = 10 * 60_000;

/** The page itself says how it was loaded; a client that lies here weakens only its own cookie. */
const overTls = (request: Request): boolean =>
  request.header('x-forwarded-proto') === 'https' || (request.header('origin') ?? '').startsWith('https://');

export const replyTo = (request: Request, response: Response): Reply => {
  const keep = ({ plain, secure }: CookieNames, value: string, maxAge: number): void => {
    if (overTls(request)) response.cookie(secure, value, { ...cookie, secure: true, maxAge });
    else response.cookie(plain, value, { ...cookie, maxAge });
  };
  return {
    setSession: (id, maxAgeSeconds) => keep(cookies.session, id, maxAgeSeconds * 1000),
    clearSession() {
      response.clearCookie(cookies.session.plain, cookie);
      response.clearCookie(cookies.session.secure, { ...cookie, secure: true });
    },
    setDevice: (value) => keep(cookies.device, value, deviceSeconds * 1000),
    setState: (value) => keep(cookies.state, value, stateMaxAgeMs),
    message(message) {
      response.locals.message = message;
    },
    unchanged: () => undefined,
    header: (name, value) => void response.setHeader(name, value),
  };
};
