/** Wanted against present, field by field. */

export type Fields = Readonly<Record<string, unknown>>;

/** Lists as comma text, objects as JSON text: as rows keep them. */
export const asText = (value: string | readonly string[] | Readonly<Record<string, unknown>>): string =>
  typeof value === 'string' ? value : Array.isArray(value) ? value.join(',') : JSON.stringify(value);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Texts that are the same JSON are equal, however they are spaced. */
export const same = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'string' && typeof other === 'string' && Bun.deepEquals(parsed(one), parsed(other)));

/** @returns the wanted fields that differ; undefined ones are not wanted. */
export function changedFields(expected: Fields, current: Fields): Fields {
  return Object.fromEntries(
    Object.entries(expected).filter(([name, value]) => value !== undefined && !same(value, current[name])),
  );
}

const maxLength = 60;
/** Members of a map that are named one by one. */
const maxMembers = 20;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const cut = (text: string, from: number): string =>
  `${from === 0 ? '' : '…'}${text.slice(from, from + maxLength)}${text.length > from + maxLength ? '…' : ''}`;

/** Both from where they begin to differ, where the difference lies behind what is shown. */
function pair(before: unknown, after: unknown): string {
  const [one, other] = [textOf(before), textOf(after)];
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const from = at < maxLength / 2 ? 0 : at;
  return `${cut(one, from)} -> ${cut(other, from)}`;
}

const mapOf = (value: unknown): Fields | null => {
  const map = typeof value === 'string' ? parsed(value) : value;
  return typeof map === 'object' && map !== null && !Array.isArray(map) ? (map as Fields) : null;
};

function describeChange(name: string, before: unknown, after: unknown): string[] {
  const [one, other] = [mapOf(before), mapOf(after)];
  if (one === null || other === null) return [`${name}: ${pair(before, after)}`];
  const members = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (member) => !Bun.deepEquals(one[member], other[member]),
  );
  const lines = members.slice(0, maxMembers).map((member) => {
    const [was, is] = [one[member], other[member]];
    return `${name} ${member}: ${pair(was === undefined ? '' : was, is === undefined ? '' : is)}`;
  });
  return members.length > maxMembers ? [...lines, `${name}: +${members.length - maxMembers} …`] : lines;
}

export const describeChanges = (changed: Fields, current: Fields): string[] =>
  Object.entries(changed).flatMap(([name, value]) => describeChange(name, current[name] ?? '', value));
