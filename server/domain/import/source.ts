/** Where an import reads: tables of rows, whatever they were stored in. */
import type { SourceRow } from '../../../db/import-source.ts';

export type Family = 'new-api' | 'one-api';

export interface Source {
  tables(): readonly string[];
  rows(table: string): Iterable<SourceRow>;
}

export const textOf = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : value instanceof Uint8Array
      ? new TextDecoder().decode(value)
      : String(value);

export const numberOf = (value: unknown): number => {
  const number = typeof value === 'number' ? value : Number(textOf(value));
  return Number.isFinite(number) ? Math.trunc(number) : 0;
};

/** 0/1, true/false, t/f. */
export const flagOf = (value: unknown): boolean => value === true || value === 1 || /^(1|t|true)$/i.test(textOf(value));

/** Seconds since the epoch of a date text or of a number; null when there is none. */
export const timeOf = (value: unknown): number | null => {
  const text = textOf(value);
  if (text === '' || text === '0') return null;
  if (/^\d+$/.test(text)) return Number.isSafeInteger(Number(text)) ? Number(text) : 1;
  const at = Date.parse(text.replace(' ', 'T'));
  return Number.isNaN(at) ? 1 : Math.floor(at / 1000);
};

/** Comma lists with blanks and repetitions taken out. */
export const listOf = (value: unknown): string =>
  [
    ...new Set(
      textOf(value)
        .split(',')
        .map((one) => one.trim()),
    ),
  ]
    .filter((one) => one !== '')
    .join(',');

/** JSON object text, '' when it is none. */
export const jsonObjectOf = (value: unknown): string => {
  try {
    const parsed: unknown = JSON.parse(textOf(value));
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? JSON.stringify(parsed) : '';
  } catch {
    return '';
  }
};
