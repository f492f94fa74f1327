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
const short = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
};

export const describeChanges = (changed: Fields, current: Fields): string[] =>
  Object.entries(changed).map(([name, value]) => `${name}: ${short(current[name] ?? '')} -> ${short(value)}`);
