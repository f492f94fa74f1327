/** Who a request comes from when proxies stand before us: only what a configured proxy wrote is believed. */
import { isIP } from 'node:net';

/** `1.2.3.4`, `1.2.3.4:5678`, `[::1]:80`, `"[::1]"`: the bare address; '' = none. */
export function bareAddress(text: string): string {
  const plain = text.trim().replace(/^"|"$/g, '');
  const inner =
    /^\[([^\]]+)\](?::\d+)?$/.exec(plain)?.[1] ?? (/^[\d.]+:\d+$/.test(plain) ? plain.split(':')[0] : plain);
  const bare = (inner ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(bare) === 0 ? '' : bare;
}

/**
 * Walks the chain from the nearest hop outwards and stops at the first that is no proxy of ours.
 * @param peer address of the connection itself. @param forwarded value of X-Forwarded-For, null = none.
 */
export function clientAddress(peer: string, forwarded: string | null, trusted: (address: string) => boolean): string {
  let known = bareAddress(peer) || peer;
  if (forwarded === null || !trusted(known)) return known;
  for (const hop of forwarded.split(',').reverse()) {
    const address = bareAddress(hop);
    // What cannot be read was not written by a proxy of ours.
    if (address === '') return known;
    known = address;
    if (!trusted(address)) return known;
  }
  return known;
}
