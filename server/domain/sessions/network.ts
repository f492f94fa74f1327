/** Which network an address counts for: who has an IPv6 address has 2^64 of them. */
import { isIP } from 'node:net';

/** @returns an IPv4 address as it is, the /64 of an IPv6 address, anything else unchanged. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = groupsOf((address.split('%')[0] ?? '').toLowerCase());
  // ::ffff:a.b.c.d is an IPv4 address in other clothes.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of a checked address. */
function groupsOf(address: string): readonly number[] {
  const [left = [], right] = address.split('::').map((half) => (half === '' ? [] : half.split(':').flatMap(numbersOf)));
  if (right === undefined) return left;
  return [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
}

function numbersOf(group: string): readonly number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
  return [(a << 8) | b, (c << 8) | d];
}
