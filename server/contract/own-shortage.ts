/** What this process itself has run out of: neither the request nor an upstream is at fault then, and the same may succeed soon. */
/** Seconds after which memory or descriptors may have come free. */
export const shortageSeconds = 2;

/** The runtime's, the system's and zlib's. */
const memoryCodes: ReadonlySet<unknown> = new Set(['ERR_MEMORY_ALLOCATION_FAILED', 'ENOMEM', 'Z_MEM_ERROR']);
/** What a connection could not be opened for want of. */
export type OwnShortage = 'descriptors' | 'ports' | 'memory';

const connectionCodes: Readonly<Record<string, OwnShortage>> = {
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
  EADDRNOTAVAIL: 'ports',
  ENOBUFS: 'memory',
};
/** Errors that cause each other are looked at no deeper. */
const maxCauses = 4;

/** Whether an error, or what caused it, says that no memory was left. */
export function isOutOfMemory(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < maxCauses; at = at.cause, depth++)
    if (
      memoryCodes.has((at as { readonly code?: unknown }).code) ||
      (at instanceof RangeError && at.message.startsWith('Out of memory'))
    )
      return true;
  return false;
}

/** For a place that takes every other error for somebody's mistake. @throws the error itself where no memory was left. */
export function rethrowOutOfMemory(error: unknown): void {
  if (isOutOfMemory(error)) throw error;
}

/** A machine without IPv6 has no address of its own to reach such a host from, which is no shortage. */
const toIpv6 = /^\w+:\/\/(?:[^/?#]*@)?\[/;

/** @param url that a connection was to be opened to. @returns null where the error says that nothing of ours was missing. */
export function ownShortageIn(error: unknown, url: string): OwnShortage | null {
  if (isOutOfMemory(error)) return 'memory';
  for (let at = error, depth = 0; at instanceof Error && depth < maxCauses; at = at.cause, depth++) {
    const { code } = at as { readonly code?: unknown };
    if (typeof code !== 'string' || !Object.hasOwn(connectionCodes, code)) continue;
    const found = connectionCodes[code] ?? null;
    return found === 'ports' && toIpv6.test(url) ? null : found;
  }
  return null;
}
