/** Options that map names to values, as rows that people edit one by one. Pure. */
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';

export interface MapShape {
  /** How many names lead to a value. */
  readonly depth: 1 | 2;
  readonly value: 'number' | 'text';
}

const shapes: Partial<Record<OptionKey, MapShape>> = {
  GroupGroupRatio: { depth: 2, value: 'number' },
  GroupLimits: { depth: 2, value: 'number' },
  TierRatio: { depth: 2, value: 'number' },
  UserUsableGroups: { depth: 1, value: 'text' },
  'gemini.safety_settings': { depth: 1, value: 'text' },
  'gemini.version_settings': { depth: 1, value: 'text' },
  'claude.default_max_tokens': { depth: 1, value: 'number' },
};

/** undefined = it is no map. */
export const mapShapeOf = (option: OptionKey): MapShape | undefined =>
  optionRow(option).kind.name === 'ratios' ? { depth: 1, value: 'number' } : shapes[option];

/** As they are typed. */
export interface MapRow {
  readonly names: readonly string[];
  readonly value: string;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @returns null = the text holds something else: it can only be edited as text. */
export function rowsIn(text: string, { depth, value: type }: MapShape): readonly MapRow[] | null {
  let parsed: unknown;
  try {
    parsed = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return null;
  }
  const rows: MapRow[] = [];
  const fits = (object: unknown, names: readonly string[]): boolean =>
    isObject(object) &&
    Object.entries(object).every(([name, value]) => {
      const path = [...names, name];
      if (path.length < depth) return fits(value, path);
      rows.push({ names: path, value: String(value) });
      return typeof value === (type === 'text' ? 'string' : 'number');
    });
  return fits(parsed, []) ? rows : null;
}

const sameNames = (one: MapRow, other: MapRow): boolean => one.names.every((name, at) => name === other.names[at]);
export const isBlank = ({ names, value }: MapRow): boolean => value === '' && names.every((name) => name === '');

/** What is wrong with a row. */
export function issueOf(row: MapRow, rows: readonly MapRow[], { value }: MapShape): 'name' | 'twice' | 'number' | null {
  if (isBlank(row)) return null;
  if (row.names.some((name) => name === '')) return 'name';
  if (rows.some((other) => other !== row && sameNames(other, row))) return 'twice';
  return value === 'number' && !/^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(row.value.trim()) ? 'number' : null;
}

/** As it is stored. A value that is no number stays a text, for the option's kind to refuse. */
export function textOf(rows: readonly MapRow[], { value: type }: MapShape): string {
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const row of rows) {
    if (isBlank(row)) continue;
    const last = row.names.at(-1) ?? '';
    let inner = object;
    for (const name of row.names.slice(0, -1)) {
      if (!isObject(inner[name])) inner[name] = Object.create(null);
      inner = inner[name] as Record<string, unknown>;
    }
    inner[last] =
      type === 'number' && issueOf(row, [], { depth: 1, value: type }) === null ? Number(row.value) : row.value;
  }
  return JSON.stringify(object, null, 2);
}
