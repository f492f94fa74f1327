/** What a handler may do to the HTTP answer: cookies and headers. */
import type { CookieOptions, Request, Response } from 'express';
import { deviceSeconds } from '../domain/sessions/devices.ts';
import { basePathOf, type CookieName, secureName } from './authenticate.ts';
import type { Reply } from './call.ts';

const common: CookieOptions = { httpOnly: true, sameSite: 'lax' };

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
  const basePath = basePathOf(request);
  const cookie: CookieOptions = { ...common, path: basePath || '/' };
  const keep = (name: CookieName, value: string, maxAge: number): void => {
    if (overTls(request)) response.cookie(secureName(name, basePath), value, { ...cookie, secure: true, maxAge });
    else response.cookie(name, value, { ...cookie, maxAge });
  };
  return {
    setSession: (id, maxAgeSeconds) => keep('session', id, maxAgeSeconds * 1000),
    clearSession() {
      response.clearCookie('session', cookie);
      response.clearCookie(secureName('session', basePath), { ...cookie, secure: true });
    },
    setDevice: (value) => keep('device', value, deviceSeconds * 1000),
    setState: (value) => keep('oauth_state', value, stateMaxAgeMs),
    message(message) {
      response.locals.message = message;
    },
    unchanged: () => undefined,
    header: (name, value) => void response.setHeader(name, value),
  };
};
