/** Reads JSON values of unchecked shape. */
import { rethrowOutOfMemory } from '../../contract/own-shortage.ts';

export type Json = Readonly<Record<string, unknown>>;

/** A number that a double would alter; written as JSON it has the digits it came with. */
export class ExactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  toJSON(): unknown {
    return rawJson(this.source);
  }
}

const { rawJSON: rawJson } = JSON as unknown as { rawJSON(source: string): unknown };

export const record = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
    ? (value as Record<string, unknown>)
    : null;

/** Most members a reader asks for are absent: one empty list serves them all, or each frame would make a dozen. */
const none: readonly never[] = Object.freeze([]);

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : none);

/** The objects of a list; everything else in it is passed over. */
export const records = (value: unknown): readonly Record<string, unknown>[] => {
  if (!Array.isArray(value)) return none;
  for (const item of value)
    if (typeof item !== 'object' || item === null || Array.isArray(item) || item instanceof ExactNumber)
      return value.filter((one) => record(one) !== null);
  return value;
};

/** A string that says something, else null. */
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** @returns the nearest double. */
export const number = (value: unknown): number | null => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return value instanceof ExactNumber ? number(Number(value.source)) : null;
};

export const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);

/** @returns undefined for what is not JSON. Throws where there was no memory to read it. */
export function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    rethrowOutOfMemory(error);
    return undefined;
  }
}

/** Numbers of 15 digits always survive; 16 characters in a row are the first that may not. */
const manyDigits = /[0-9.]{16}/;
/** A double ends at 1e308; what has four digits there is no number that anybody sends. */
const hugeExponent = /[eE][-+]?[3-9]\d\d/;
/** The same where a value stands; elsewhere it is an id. */
const exactValue = /[:,[\s]-?(?:[0-9.]{16}|\d[0-9.]*[eE][-+]?[3-9]\d\d)/;

/** Whether a number in this JSON may not survive `JSON.parse`. Nearly no text has one, so the first two tests must be cheap. */
export const hasExactNumbers = (source: string): boolean =>
  (manyDigits.test(source) || hugeExponent.test(source)) && exactValue.test(source);

const leadingZeros = /^[-0.]+/;

function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  const [mantissa = ''] = source.split(/[eE]/, 1);
  const digits = mantissa.replace(leadingZeros, '').replace('.', '').length;
  const kept = digits <= 15 && Number.isFinite(value) && (value !== 0 || digits === 0);
  return kept ? value : new ExactNumber(source);
}

/** Like `parseJson`, for what is written down again: numbers that a double would alter become `ExactNumber`. */
export function parseExact(source: string): unknown {
  if (!hasExactNumbers(source)) return parseJson(source);
  try {
    return JSON.parse(source, asWritten);
  } catch (error) {
    // Values too deep to be looked at one by one are read without.
    if (error instanceof SyntaxError || error instanceof RangeError) return parseJson(source);
    throw error;
  }
}

/** The object without the members that are undefined or null. */
export function present(members: Json): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(members)) if (value !== undefined && value !== null) kept[key] = value;
  return kept;
}

/** Looks up a word from outside: what every object inherits (`constructor`, `__proto__`) is in no table. */
export const guardedLookup = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** The id that a member is or has, as a list of one or none. */
export function idOf(value: unknown): readonly string[] {
  const id = text(value) ?? text(record(value)?.id);
  return id === null ? [] : [id];
}
