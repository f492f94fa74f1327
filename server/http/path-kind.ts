/** Which part of the server a path belongs to: decided here and nowhere else, for every spelling of a path. */
import { isRelayPath, relaySegments } from '../relay/intake/routes.ts';

/** `nowhere`: a program's path in a spelling that no client of ours uses; never a page, never another way in. */
export type PathKind = 'relay' | 'api' | 'console' | 'nowhere';

/** What supervisors and monitors ask for by habit: who gets a page here would take a dead server for a living one. */
const probes = ['health', 'healthz', 'healthcheck', 'live', 'livez', 'ready', 'readyz', 'ping', 'metrics', 'actuator'];

/** Where agents look for services that this server may have one day: sign-in, settings, tools, descriptions. */
const lookups = ['.well-known', 'protocol', 'managed', 'mcp', 'info', 'openapi.json'];

/** Where programs sign in: RFC 8414, 6749, 8628, 7009, and the description that opencode reads. Other addresses below `/oauth/` are pages of the console. */
export const signInPaths: ReadonlySet<string> = new Set([
  '/.well-known/oauth-authorization-server',
  '/.well-known/opencode',
  '/protocol',
  '/oauth/authorize',
  '/oauth/device_authorization',
  '/oauth/token',
  '/oauth/revoke',
]);

/** First segments that belong to programs. */
const programs: ReadonlySet<string> = new Set(['api', ...relaySegments, ...probes, ...lookups]);

/** Longer than each of them in any spelling. Marks over letters are put in order in a time that grows with the square of their number. */
const maxSegment = 128;

export function pathKindOf(path: string): PathKind {
  if (isRelayPath(path)) return 'relay';
  if (signInPaths.has(path)) return 'api';
  if (path.startsWith('/api/')) return 'api';
  return programs.has(firstSegment(path)) ? 'nowhere' : 'console';
}

/** As a careless proxy or server in between might read it: decoded twice, either slash, any case, parameters cut off. */
function firstSegment(path: string): string {
  const segments = decoded(decoded(path))
    .split(/[\\/]/)
    .map((segment) => segment.replace(/;.*/, '').replace(/[\p{C}\s]/gu, ''));
  return (
    segments
      .find((segment) => !/^\.*$/.test(segment))
      ?.slice(0, maxSegment)
      .normalize('NFKC')
      .toLowerCase() ?? ''
  );
}

/** Invalid percent encoding, or bytes that are no UTF-8, stay or become a sign that matches no path. */
const decoded = (text: string): string =>
  text.replace(/(%[\da-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll('%', ''), 'hex').toString('utf8'));
