/** The pieces of SQL that the engines say differently; repositories are the same for both. */
import type { Kysely, RawBuilder } from 'kysely';
import type { Schema } from './schema/tables.ts';

export interface Dialect {
  /** LIKE without regard to the case of ASCII letters. @param mark what takes a wildcard literally, '' = nothing does. */
  like(column: string, pattern: string, mark: '\\' | ''): RawBuilder<boolean>;
  /** The column in a condition for which its index is not to be used: one engine knows which value is rare, the other does not. */
  unindexed(column: string): RawBuilder<unknown>;
  /** Where the part begins in the text, from 1; 0 = it is not in it. */
  position(text: RawBuilder<string>, part: string): RawBuilder<number>;
  /** A number that is a member of the JSON object in this column. */
  jsonNumber(column: string, member: string): RawBuilder<number | null>;
  /** What was used of a channel, where its row alone does not say it. */
  readonly channelUse: RawBuilder<number> | null;
  /** Where the log is kept by months; null = it is one table. */
  readonly months: {
    /** Makes this month and the next ones. */
    prepare(query: Kysely<Schema>): Promise<void>;
    /** Drops those that ended before a time. @returns how many rows they had. */
    drop(query: Kysely<Schema>, before: number): Promise<number>;
  } | null;
  /** From here to the end of the transaction nobody else writes the table; called before anything is read. */
  alone(transaction: Kysely<Schema>, table: 'audit'): Promise<void>;
}
