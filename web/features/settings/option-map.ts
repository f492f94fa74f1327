/** Options that are lists, or map names to values: as entries and rows that people edit one by one. Pure. */
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';

export interface MapShape {
  /** How many names lead to a value. */
  readonly depth: 1 | 2;
  readonly value: 'number' | 'text';
  /** It is stored as a list of objects with one name each. */
  readonly list?: true;
}

const shapes: Partial<Record<OptionKey, MapShape>> = {
  GroupGroupRatio: { depth: 2, value: 'number' },
  TierRatio: { depth: 2, value: 'number' },
  UserUsableGroups: { depth: 1, value: 'text' },
  'gemini.safety_settings': { depth: 1, value: 'text' },
  'gemini.version_settings': { depth: 1, value: 'text' },
  'claude.default_max_tokens': { depth: 1, value: 'number' },
  'claude.model_headers_settings': { depth: 2, value: 'text' },
  'agents.claude_env': { depth: 1, value: 'text' },
  'names.headers': { depth: 1, value: 'text' },
  Chats: { depth: 1, value: 'text', list: true },
};

interface ListShape {
  /** @returns null = the text holds something else: it can only be edited as text. */
  readonly entriesIn: (text: string) => readonly string[] | null;
  readonly textOf: (entries: readonly string[]) => string;
}
/** A JSON list of names. */
const jsonList: ListShape = {
  entriesIn(text) {
    const parsed = text.trim() === '' ? [] : parse(text);
    return Array.isArray(parsed) && parsed.every((one) => typeof one === 'string') ? parsed : null;
  },
  textOf: (entries) => JSON.stringify(entries),
};
const lists: Partial<Record<OptionKey, ListShape>> = {
  EmailDomainWhitelist: {
    entriesIn: (text) =>
      text
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
    textOf: (entries) => entries.join(','),
  },
  'gemini.supported_imagine_models': jsonList,
  AutoGroups: jsonList,
};

/** undefined = it is no list. */
export const listOf = (option: OptionKey): ListShape | undefined => lists[option];

/** undefined = it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
export function rowsIn(text: string, { depth, value: type, list }: MapShape): readonly MapRow[] | null {
  const parsed = text.trim() === '' ? (list ? [] : {}) : parse(text);
  const rows: MapRow[] = [];
  const fits = (object: unknown, names: readonly string[]): boolean =>
    isObject(object) &&
    Object.entries(object).every(([name, value]) => {
      const path = [...names, name];
      if (path.length < depth) return fits(value, path);
      rows.push({ names: path, value: String(value) });
      return typeof value === (type === 'text' ? 'string' : 'number');
    });
  const whole = list
    ? Array.isArray(parsed) && parsed.every((one) => isObject(one) && Object.keys(one).length === 1 && fits(one, []))
    : fits(parsed, []);
  return whole ? rows : null;
}

const sameNames = (one: MapRow, other: MapRow): boolean => one.names.every((name, at) => name === other.names[at]);
const isBlank = ({ names, value }: MapRow): boolean => value === '' && names.every((name) => name === '');

/** What is wrong with a row. */
export function issueOf(row: MapRow, rows: readonly MapRow[], { value }: MapShape): 'name' | 'twice' | 'number' | null {
  if (isBlank(row)) return null;
  if (row.names.some((name) => name === '')) return 'name';
  if (rows.some((other) => other !== row && sameNames(other, row))) return 'twice';
  return value === 'number' && !/^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(row.value.trim()) ? 'number' : null;
}

/** As it is stored. A value that is no number stays a text, for the option's kind to refuse. */
export function textOf(rows: readonly MapRow[], { value: type, list }: MapShape): string {
  if (list)
    return JSON.stringify(
      rows.filter((row) => !isBlank(row)).map(({ names: [name = ''], value }) => ({ [name]: value })),
      null,
      2,
    );
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
