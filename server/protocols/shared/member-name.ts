/** Names of members as other parsers may read them. */
import type { Reading } from '../../contract/pricing/dearest.ts';

const plainName = /^[a-z0-9_]*$/;

/** No name that means something is as long, however it is spelled. Marks over letters are put in order in a time that grows with the square of their number. */
const maxLength = 512;

/**
 * How the most forgiving parser reads a name: case aside (with U+212A, U+017F and the dotless i, which Go and others
 * fold), width aside, as far as the first NUL, without blanks around it and halves of characters in it.
 */
export function foldedName(name: string): string {
  if (plainName.test(name)) return name;
  const [start = ''] = name.split('\0', 1);
  return start
    .replaceAll(/\p{Surrogate}/gu, '')
    .trim()
    .slice(0, maxLength)
    .normalize('NFKC')
    .trim()
    .toLowerCase()
    .replaceAll('ſ', 's')
    .replaceAll('ı', 'i')
    .replaceAll('i\u0307', 'i');
}

/** Names already folded: requests use few, and use them again and again. */
const known = new Map<string, string>();

/** The same for names of members that change a price: some upstreams read `serviceTier` like `service_tier`. */
export function looseName(name: string): string {
  const found = known.get(name);
  if (found !== undefined) return found;
  const loose = foldedName(name).replaceAll(/[_-]/g, '');
  if (known.size >= 2000) known.clear();
  if (name.length <= 64) known.set(name, loose);
  return loose;
}

/** As it is told to people: a long one, which would stand before each of its members, by its beginning. */
export const shownName = (name: string): string => name.slice(0, 100);

/** Values of a member in all its spellings: whichever an upstream reads is among them. @param loose its loose name. */
export function valuesOf(object: Readonly<Record<string, unknown>>, loose: string): readonly unknown[] {
  let found: unknown[] | null = null;
  for (const key in object) {
    if (looseName(key) !== loose) continue;
    found ??= [];
    found.push(object[key]);
  }
  return found ?? none;
}

/** The same with the name that stands there as each one's place. @param loose its loose name. */
export function readingsOf(object: Readonly<Record<string, unknown>>, loose: string): readonly Reading<unknown>[] {
  let found: Reading<unknown>[] | null = null;
  for (const key in object) {
    if (looseName(key) !== loose) continue;
    found ??= [];
    found.push({ value: object[key], place: key });
  }
  return found ?? none;
}

/**
 * Whether one of all spellings asks for more. What asks for less is a matter of `cheapestOnlyIf`.
 * @param loose its loose name.
 */
export function anyAsks(
  object: Readonly<Record<string, unknown>>,
  loose: string,
  asks: (value: unknown) => boolean,
): boolean {
  for (const key in object) if (looseName(key) === loose && asks(object[key])) return true;
  return false;
}
const none: readonly never[] = [];
