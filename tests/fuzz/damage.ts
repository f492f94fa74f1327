/** Texts, bytes and values that were right once: made from a seed, so that every case can be had again. */

export interface Damage {
  /** [0, 1). */
  random(): number;
  whole(max: number): number;
  pick<T>(list: readonly T[]): T;
  /** Some signs that mean something to parsers. */
  signs(max: number): string;
  /** The text with parts cut, doubled, moved or replaced. */
  damaged(text: string): string;
  value(depth?: number): unknown;
}

const loud = [
  ...['"', '\\', '{', '}', '[', ']', ',', ':', '=', ';', '%', '&', '?', '#', '/', '..', '-', '+', '.', '*', "'"],
  ...['\n', '\r', '\r\n', '\t', ' ', '\0', '\u2028', '\ufeff', '\ud800', '\udc00', '\u202e', 'é', 'ſ', '🙂'],
  ...['null', 'true', 'NaN', 'Infinity', '-0', '1e999', '1e-400', '9007199254740993', '0x10', '__proto__'],
  ...['constructor', 'toString', 'data:', 'event:', '%00', '%2f', '%ff', '<script>', "' OR 1=1--"],
] as const;
const numbers = [0, -0, 1, -1, 0.1, 1e21, -1e21, 2 ** 53, 1e-7, Number.MAX_VALUE, Number.MIN_VALUE] as const;

export function damageOf(random: () => number): Damage {
  const whole = (max: number) => Math.floor(random() * (max + 1));
  const pick = <T>(list: readonly T[]): T => list[whole(list.length - 1)] as T;
  const signs = (max: number) => Array.from({ length: whole(max) }, () => pick(loud)).join('');
  const value = (depth = 0): unknown => {
    const kind = whole(depth > 3 ? 4 : 6);
    if (kind === 0) return pick(numbers);
    if (kind === 1) return signs(4);
    if (kind === 2) return pick([null, true, false]);
    if (kind === 3) return pick(loud);
    if (kind === 4) return whole(1_000_000) / pick([1, 7, 1000]);
    if (kind === 5) return Array.from({ length: whole(4) }, () => value(depth + 1));
    return Object.fromEntries(
      Array.from({ length: whole(4) }, () => [pick(['a', 'gpt-4o', 'default', ...loud]), value(depth + 1)]),
    );
  };
  const damaged = (text: string): string => {
    let found = text;
    for (let turn = whole(4); turn >= 0; turn--) {
      const [from, to] = [whole(found.length), whole(found.length)].sort((a, b) => a - b) as [number, number];
      const part = found.slice(from, to);
      found = pick([
        () => found.slice(0, from) + found.slice(to),
        () => found.slice(0, to) + part + found.slice(to),
        () => found.slice(0, from) + signs(3) + found.slice(from),
        () => found.slice(0, from) + signs(3) + found.slice(to),
        () => found.slice(0, from) + part.toUpperCase() + found.slice(to),
        () => found.slice(to) + found.slice(0, to),
      ])().slice(0, 4000);
    }
    return found;
  };
  return { random, whole, pick, signs, damaged, value };
}
