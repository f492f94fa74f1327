/** Where somebody was going when a login or the set-up came between. */
const key = 'return-to';
const between = /^\/(login|register|reset|setup|oauth)(\/|$)/;

/** Remembers the address that is open, unless it is itself one of those between. */
export function storeReturnPath(): void {
  const { pathname, search, hash } = location;
  if (between.test(pathname) || pathname === '/') return;
  sessionStorage.setItem(key, pathname + search + hash);
}

/** @returns the address to go on to; it is asked for once. @param fallback where nobody was going anywhere. */
export function takeReturnPath(fallback: string): string {
  const path = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return path?.startsWith('/') && !path.startsWith('//') ? path : fallback;
}
