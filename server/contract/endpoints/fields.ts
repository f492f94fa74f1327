/** Kinds of input fields that many calls share. */
import * as z from 'zod/mini';
import { type Sort, sortsOf } from '../sort.ts';

/** What a browser's query string says for "nothing". */
const absent = new Set(['', 'NaN', 'undefined', 'null']);

const numeric = (value: unknown): unknown => {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return absent.has(value.trim()) ? undefined : Number(value);
  return Number.isNaN(value) ? undefined : value;
};

/** An object's own `toString` is whatever its sender wrote. */
const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null;

/** Whole number; text is accepted, nonsense in a query counts as absent. */
export const number = z.optional(z.pipe(z.transform(numeric), z.optional(z.int())));
/** Any number; its user says in its own words what it must be. Anything else becomes a number that never fits. */
export const figure = z.optional(
  z.pipe(
    z.transform((value) => {
      const parsed = numeric(value);
      return parsed === undefined ? undefined : typeof parsed === 'number' && Number.isFinite(parsed) ? parsed : 0.5;
    }),
    z.optional(z.number()),
  ),
);
export const id = z.pipe(z.transform(numeric), z.int().check(z.positive()));
export const text = z.optional(
  z.pipe(
    z.transform((value) =>
      value === null || value === undefined ? undefined : isPlain(value) ? String(value) : value,
    ),
    z.optional(z.string()),
  ),
);
export const toggle = z.optional(
  z.pipe(
    z.transform((value) =>
      value === 'true' || value === '1' || value === 1
        ? true
        : value === 'false' || value === '0' || value === 0 || value === ''
          ? false
          : (value ?? undefined),
    ),
    z.optional(z.boolean()),
  ),
);
/** The order of a list: `field` or `-field`. A field that is not offered is refused, never ignored. */
export const oneOf = <Word extends string>(words: readonly Word[]) =>
  z.optional(
    z.pipe(
      z.transform((value) => (value === '' || value === null ? undefined : value)),
      z.optional(z.enum(words as readonly [Word, ...Word[]])),
    ),
  );
export const sortBy = <Field extends string>(fields: readonly Field[]): ReturnType<typeof oneOf<Sort<Field>>> =>
  oneOf(sortsOf(fields));
/** JSON given as text or as the object itself. */
export const jsonText = z.optional(
  z.pipe(
    z.transform((value) =>
      value === null || value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value),
    ),
    z.optional(z.string()),
  ),
);
/** Comma list given as text or as an array. */
export const commaList = z.optional(
  z.pipe(
    z.transform((value) =>
      value === null || value === undefined
        ? undefined
        : Array.isArray(value) && value.every(isPlain)
          ? value.join(',')
          : value,
    ),
    z.optional(z.string()),
  ),
);
export const nothing = z.unknown();
