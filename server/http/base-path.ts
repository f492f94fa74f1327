/**
 * The path under which a proxy serves the site beside others, `/ai` of `https://example.com/ai/`. It is taken off where a
 * request comes in and put before every address that leaves; what lies between knows paths from `/` alone.
 */
import { consolePages } from '../contract/console-pages.ts';
import { AppError } from '../contract/errors.ts';
import { pathKindOf } from './path-kind.ts';

/** Set by the listener for the API, '' or absent = none. */
export const basePathHeader = 'x-gateway-base-path';

/** First segments of the console's own addresses. */
const pages: ReadonlySet<string> = new Set(['assets', 'docs', ...consolePages.map((page) => page.split('/')[1] ?? '')]);

const shape = /^(?:\/[a-z\d][a-z\d._~-]*)+$/i;

/**
 * @param input `/ai`, with or without a slash at the end; '' and `/` = none.
 * @returns '' or a path that begins with a slash and ends with none.
 * @throws AppError usage: other characters, or an address of ours.
 */
export function parseBasePath(input: string): string {
  const path = input.trim().replace(/\/+$/, '');
  if (path === '') return '';
  if (!shape.test(path)) throw new AppError('usage', { detail: `--base-path ${input}: /name` });
  const [, first = ''] = path.split('/');
  // Addresses without it are served as well, so it must not be one.
  if (pathKindOf(`/${first}/`) !== 'console' || pages.has(first.toLowerCase()))
    throw new AppError('usage', { detail: `--base-path ${input}: /${first} is an address of the gateway` });
  return path;
}

/**
 * A proxy may send the path or take it off itself: a request without it means the same.
 * @param url of a request, whole or only its path.
 * @returns without the base path; the same text where it has none.
 */
export function withoutBasePath(url: string, basePath: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', 8);
  if (start < 0 || !url.startsWith(basePath, start)) return url;
  const end = start + basePath.length;
  const next = url.charAt(end);
  if (next === '/') return url.slice(0, start) + url.slice(end);
  return next === '' || next === '?' ? `${url.slice(0, start)}/${url.slice(end)}` : url;
}
