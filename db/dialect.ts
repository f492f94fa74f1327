/** The pieces of SQL that the engines say differently; repositories are the same for both. */
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { LogsTable, Schema } from './schema/tables.ts';

/** A place in each step that looks random, so that rows which repeat in a rhythm are all hit. @param n number of the step, an integer column. */
export const placeIn = (n: string, step: number): RawBuilder<number> =>
  sql<number>`(${sql.ref(n)} * 2654435761 % 4294967296 / 65536) % ${sql.lit(step)}`;

export interface Dialect {
  /** LIKE without regard to the case of ASCII letters. @param mark what takes a wildcard literally, '' = nothing does. */
  like(column: string, pattern: string, mark: '\\' | ''): RawBuilder<boolean>;
  /** The column in a condition for which its index is not to be used: one engine knows which value is rare, the other does not. */
  withoutIndex(column: string): RawBuilder<unknown>;
  /** Where the part begins in the text, from 1; 0 = it is not in it. */
  position(text: RawBuilder<string>, part: string | RawBuilder<string>): RawBuilder<number>;
  /** A number that is a member of the JSON object in this column. */
  jsonNumber(column: string, member: string): RawBuilder<number | null>;
  /** A text that is a member of the JSON object in this column; escapes may be left as they are. */
  jsonText(column: string, member: string): RawBuilder<string | null>;
  /** As a table: one row of the log out of each `step` ids, at another place in each of them. */
  spread(
    ids: { readonly first: number; readonly last: number; readonly step: number },
    from: number,
    to: number,
  ): RawBuilder<Selectable<LogsTable>>;
  /** Quota used by a channel, where its row alone does not say it. */
  readonly channelUse: RawBuilder<number> | null;
  /** Where the log is kept by months; null = it is one table. */
  readonly months: {
    /** Makes this month and the next ones. */
    prepare(query: Kysely<Schema>): Promise<void>;
    /** Drops those that ended before a time. @returns how many rows they had. */
    drop(query: Kysely<Schema>, before: number): Promise<number>;
  } | null;
  /** Keeps other writers off the table until the transaction ends; called before anything is read. */
  exclusive(transaction: Kysely<Schema>, table: 'audit' | 'virtual_models'): Promise<void>;
}
