/**
 * Pages of other origins may call the relay, as they may call its upstreams: what opens it is a key that the page has to
 * know, never a cookie that a browser adds by itself. Everything else is this site's own.
 */
import type { PathKind } from './path-kind.ts';

/** What the console's own session opens. */
const ownPaths = '/pg/';

const readable = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' } as const;
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** `*` does not mean `authorization`, and SDKs send headers of their own: whatever is named is allowed. */
const names = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;
const defaultNames = 'authorization, content-type';
/** Seconds a browser need not ask again; none remembers it for longer. */
const maxAge = '7200';

/** Whether a page of any origin may read what is answered here. */
export const isOpenToPages = (request: Request, place: PathKind, path: string): boolean =>
  place === 'relay' && request.headers.has('origin') && !path.startsWith(ownPaths);

/** A browser's question before it sends what a form could not. */
export const isPreflight = (request: Request): boolean =>
  request.method === 'OPTIONS' && request.headers.has('access-control-request-method');

export function preflightAnswer(request: Request): Response {
  const requested = request.headers.get('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      ...readable,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': names.test(requested) ? requested : defaultNames,
      'access-control-max-age': maxAge,
    },
  });
}

export function openToPages(response: Response): Response {
  for (const [name, value] of Object.entries(readable)) response.headers.set(name, value);
  return response;
}
