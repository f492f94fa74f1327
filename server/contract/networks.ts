/** Addresses and networks as people list them: of keys, of proxies, of what may be called. Pure; the console reads with it too. */

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const address4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`);
const group6 = /^[\da-f]{1,4}$/i;
const parts6 = 8;

/** RFC 4291, section 2.2: eight groups, `::` once for at least one of zeros, the last two perhaps as an IPv4 address. */
function isAddress6(text: string): boolean {
  const [before = '', after, ...more] = text.split('::');
  if (more.length > 0) return false;
  const groupsOf = (side: string): readonly string[] => (side === '' ? [] : side.split(':'));
  const groups = [...groupsOf(before), ...groupsOf(after ?? '')];
  const last = groups.at(-1) ?? '';
  const embedded = address4.test(last) && (after === undefined || after !== '');
  const plain = embedded ? groups.slice(0, -1) : groups;
  const count = plain.length + (embedded ? 2 : 0);
  return plain.every((group) => group6.test(group)) && (after === undefined ? count === parts6 : count < parts6);
}

/** @returns 0 for what is no address. */
export const familyOf = (text: string): 0 | 4 | 6 => (address4.test(text) ? 4 : isAddress6(text) ? 6 : 0);

/** An address, or one with the length of its prefix. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const family = familyOf(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** One a line, or with commas between. */
export const networksIn = (text: string): readonly string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
