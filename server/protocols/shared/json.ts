/** Looks into JSON values whose shape nobody vouches for. */

export type Json = Readonly<Record<string, unknown>>;

export const record = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;

/** Most members a reader asks for are absent: one empty list serves them all, or each frame would make a dozen. */
const none: readonly never[] = Object.freeze([]);

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : none);

/** The objects of a list; everything else in it is passed over. */
export const records = (value: unknown): readonly Record<string, unknown>[] => {
  if (!Array.isArray(value)) return none;
  return value.every((item) => record(item) !== null) ? value : value.filter((item) => record(item) !== null);
};

/** A string that says something, else null. */
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

export const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);

/** @returns undefined for what is not JSON. */
export function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}

/** The object without the members that are undefined or null. */
export function present(members: Json): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(members)) if (value !== undefined && value !== null) kept[key] = value;
  return kept;
}

/** Looks up a word that somebody else chose: what every object inherits (`constructor`, `__proto__`) is in no table. */
export const lookUp = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** The id that a member is or has, as a list of one or none. */
export function idOf(value: unknown): readonly string[] {
  const id = text(value) ?? text(record(value)?.id);
  return id === null ? [] : [id];
}
