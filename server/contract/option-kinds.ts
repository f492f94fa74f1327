/** The kinds an option value can have: each checks the stored text and says in both languages what is wrong with it. */

export interface Complaint {
  readonly zh: string;
  readonly en: string;
}

export interface OptionKind<T = unknown> {
  readonly name: 'switch' | 'integer' | 'decimal' | 'text' | 'lines' | 'list' | 'choice' | 'ratios' | 'json';
  /** @returns what is wrong with the text, or null. */
  check(text: string): Complaint | null;
  /** Value of a checked text. */
  parse(text: string): T;
  /** Brings an accepted spelling into the one that is stored. */
  clean?(text: string): string;
  /** Values of a `choice`. */
  readonly choices?: readonly string[];
}

const badJson: Complaint = { zh: '不是合法的 JSON 字符串', en: 'not valid JSON' };

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const toggle: OptionKind<boolean> = {
  name: 'switch',
  check: (text) =>
    text === 'true' || text === 'false' ? null : { zh: '必须是 true 或 false', en: 'must be true or false' },
  parse: (text) => text === 'true',
};

export const text: OptionKind<string> = { name: 'text', check: () => null, parse: (value) => value };

/** One entry per line. */
export const lines: OptionKind<readonly string[]> = {
  name: 'lines',
  check: () => null,
  parse: (value) =>
    value
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
};

/** Comma separated. */
export const list: OptionKind<readonly string[]> = {
  name: 'list',
  check: () => null,
  parse: (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
};

export const integer = (least: number): OptionKind<number> => ({
  name: 'integer',
  clean: (value) => value.trim(),
  check: (value) =>
    /^-?\d{1,15}$/.test(value) && Number(value) >= least
      ? null
      : { zh: `必须是不小于 ${least} 的整数`, en: `must be a whole number of at least ${least}` },
  parse: Number,
});

export const decimal = (least: number, most = Number.MAX_SAFE_INTEGER): OptionKind<number> => ({
  name: 'decimal',
  clean: (value) => value.trim(),
  check: (value) =>
    /^-?\d+(\.\d+)?$/.test(value) && Number(value) >= least && Number(value) <= most
      ? null
      : { zh: `必须是 ${least} 到 ${most} 之间的数字`, en: `must be a number from ${least} to ${most}` },
  parse: Number,
});

export const choice = (...choices: readonly string[]): OptionKind<string> => ({
  name: 'choice',
  choices,
  check: (value) =>
    choices.includes(value)
      ? null
      : { zh: `必须是 ${choices.join('、')} 之一`, en: `must be one of ${choices.join(', ')}` },
  parse: (value) => value,
});

/** JSON object of name -> number that is not negative. */
export const ratios: OptionKind<ReadonlyMap<string, number>> = {
  name: 'ratios',
  check(value) {
    const object = jsonOf(value);
    if (!isRecord(object)) return badJson;
    const bad = Object.entries(object).find(
      ([, ratio]) => typeof ratio !== 'number' || !Number.isFinite(ratio) || ratio < 0,
    );
    return bad === undefined
      ? null
      : { zh: `${bad[0]} 必须是不小于 0 的数字`, en: `${bad[0]} must be a number of at least 0` };
  },
  parse: (value) => new Map(Object.entries(jsonOf(value) as Record<string, number>)),
};

/** Any JSON of the given shape; an empty text means nothing is set and is stored as empty JSON, which every reader can parse. */
export const json = (shape: 'object' | 'array'): OptionKind<unknown> => ({
  name: 'json',
  clean: (value) => (value.trim() === '' ? (shape === 'array' ? '[]' : '{}') : value),
  check(value) {
    if (value.trim() === '') return null;
    const parsed = jsonOf(value);
    const fits = shape === 'array' ? Array.isArray(parsed) : isRecord(parsed);
    return fits ? null : badJson;
  },
  parse: (value) => (value.trim() === '' ? (shape === 'array' ? [] : {}) : jsonOf(value)),
});
