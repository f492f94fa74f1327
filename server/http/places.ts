/** Which part of the server a path belongs to: decided here and nowhere else, for every spelling of a path. */
import { isRelayPath, relaySegments } from '../relay/operations.ts';

/** `nowhere`: a program's path in a spelling that no client of ours uses; never a page, never another way in. */
export type Place = 'relay' | 'api' | 'console' | 'nowhere';

/** First segments that belong to programs. */
const programs: ReadonlySet<string> = new Set(['api', ...relaySegments]);

export function placeOf(path: string): Place {
  if (isRelayPath(path)) return 'relay';
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
      ?.normalize('NFKC')
      .toLowerCase() ?? ''
  );
}

/** What is no percent encoding stays as it is. */
const decoded = (text: string): string =>
  text.includes('%')
    ? text.replace(/%[\da-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    : text;
