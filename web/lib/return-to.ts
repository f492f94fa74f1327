/** The page to return to after a login or the set-up. */
import { pagePath, storedName } from './base-path.ts';

const key = storedName('return-to');
const between = /^\/(login|register|reset|setup|oauth)(\/|$)/;

/** Remembers the address that is open, unless it is itself one of those between. */
export function storeReturnPath(): void {
  const { search, hash } = location;
  const path = pagePath();
  if (between.test(path) || path === '/') return;
  sessionStorage.setItem(key, path + search + hash);
}

/** @returns the address to go on to; it can be read once. @param fallback where no page was stored. */
export function takeReturnPath(fallback: string): string {
  const path = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return path?.startsWith('/') && !path.startsWith('//') ? path : fallback;
}
