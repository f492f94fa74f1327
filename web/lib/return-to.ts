/** The page to return to after a login or the set-up. */
const key = 'return-to';
const between = /^\/(login|register|reset|setup|oauth)(\/|$)/;

/** Remembers the address that is open, unless it is itself one of those between. */
export function storeReturnPath(): void {
  const { pathname, search, hash } = location;
  if (between.test(pathname) || pathname === '/') return;
  sessionStorage.setItem(key, pathname + search + hash);
}

/** @returns the address to go on to; it can be read once. @param fallback where no page was stored. */
export function takeReturnPath(fallback: string): string {
  const path = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return path?.startsWith('/') && !path.startsWith('//') ? path : fallback;
}
