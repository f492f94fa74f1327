/** What changes between two texts of a price map, name by name. */

export interface PriceChange {
  readonly key: string;
  /** Model, group or tool; '' when the whole option is one number. */
  readonly name: string;
  /** JSON text; null = absent. */
  readonly before: string | null;
  readonly after: string | null;
}

const entriesOf = (text: string): Map<string, string> => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = text;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value).map(([name, item]) => [name, JSON.stringify(item)]))
    : new Map([['', JSON.stringify(value)]]);
};

/** @returns changed, new and removed names, in alphabetical order. */
export function pricesDiffer(key: string, before: string, after: string): PriceChange[] {
  const [old, fresh] = [entriesOf(before), entriesOf(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .sort()
    .map((name) => ({ key, name, before: old.get(name) ?? null, after: fresh.get(name) ?? null }))
    .filter((change) => change.before !== change.after);
}
