/** Looks into JSON values whose shape nobody vouches for. */

export type Json = Readonly<Record<string, unknown>>;

export const record = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The objects of a list; everything else in it is passed over. */
export const records = (value: unknown): Record<string, unknown>[] =>
  list(value).flatMap((item) => {
    const found = record(item);
    return found === null ? [] : [found];
  });

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
