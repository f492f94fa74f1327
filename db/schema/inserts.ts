/** Rows from what code speaks of: each column from the field of its name, `token_id` from `tokenId`. */
import type { Insertable } from 'kysely';
import { type Schema, tables } from './tables.ts';

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;
type Stored<Value> = Value extends number ? number | boolean : Value;
type ColumnAliases = Readonly<Record<string, string>>;
type FieldOf<Name, Other extends ColumnAliases> = Name extends keyof Other
  ? Other[Name]
  : Name extends string
    ? Camel<Name>
    : never;

type FieldsOf<Row, Other extends ColumnAliases> = {
  readonly [Column in keyof Row as FieldOf<Column, Other>]: Stored<Row[Column]>;
};

/** What a row is made of; numbers that the table gives out are its own. */
export type EntryOf<Name extends keyof Schema, Other extends ColumnAliases> = FieldsOf<
  Omit<Insertable<Schema[Name]>, 'id'>,
  Other
>;

export interface InsertColumn<Entry> {
  readonly name: string;
  /** The field of the entry that fills the column. */
  readonly field: string;
  readonly type: 'bigint' | 'text';
  readonly value: (entry: Entry) => number | string | null;
}

const camel = (name: string): string => name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());

/** @param other fields that have another name than their column. */
export function insertColumns<Name extends keyof Schema, const Other extends ColumnAliases = Record<never, never>>(
  name: Name,
  other?: Other,
): readonly InsertColumn<EntryOf<Name, Other>>[] {
  return Object.entries(tables[name].columns).flatMap(([column, { type, rules, fallback }]) => {
    if (type === 'serial' || type === 'rowid') return [];
    const field = other?.[column] ?? camel(column);
    const nullable = !/ NOT NULL| PRIMARY KEY/.test(rules);
    const value = (entry: object): number | string | null => {
      const found = (entry as Readonly<Record<string, unknown>>)[field] ?? fallback;
      if (typeof found === 'boolean') return found ? 1 : 0;
      return nullable && found === '' ? null : (found as number | string | null);
    };
    return [{ name: column, field, type: type === 'text' ? 'text' : 'bigint', value }];
  });
}

export const namesOf = (columns: readonly { readonly name: string }[]): string =>
  columns.map(({ name }) => name).join(', ');

/** Aliases in the log: the ledger writes these for a request, domain code for an event. */
export const logAliases = { group_name: 'group', model_name: 'model' } as const;
