/** What a handler may do to the HTTP answer: cookies and headers. */
import type { CookieOptions, Request, Response } from 'express';
import { deviceSeconds } from '../domain/sessions/devices.ts';
import { type CookieNames, cookies } from './authenticate.ts';
import type { Reply } from './call.ts';

const cookie: CookieOptions = { httpOnly: true, sameSite: 'lax', path: '/' };

const stateMaxAgeMs = 10 * 60_000;

/** A proxy that is believed says so, or the site's own address does: the listener wrote it, `transport-security.ts` decides. */
export const overProvenTls = (request: Request): boolean => request.header('x-gateway-tls') === '1';

/**
 * The browser, too, says how it loaded the page of this site, also behind a proxy that names another host: no page can
 * write its `Origin` or `Sec-Fetch-Site`, and a program that lies there weakens only its own cookie.
 */
export function overTls(request: Request): boolean {
  if (overProvenTls(request)) return true;
  const origin = request.header('origin') ?? '';
  if (!origin.startsWith('https://')) return false;
  return origin === `https://${request.header('host') ?? ''}` || request.header('sec-fetch-site') === 'same-origin';
}

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
