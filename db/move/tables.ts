/** What a site consists of: every table, the order in which its rows are read, the column that gives out numbers. */
import { keyOf, type Table } from '../schema/columns.ts';
import { tables } from '../schema/tables.ts';

export interface MovedTable {
  readonly name: string;
  /** Names each row; rows are read in its order. */
  readonly key: readonly string[];
  /** Column with automatic numbers. */
  readonly idColumn: string | null;
}

export const movedTables: readonly MovedTable[] = Object.entries<Table>(tables).flatMap(([name, one]) => {
  if (one.left !== undefined) return [];
  const key = keyOf(one);
  const [first = ''] = key;
  return [{ name, key, idColumn: /^(serial|rowid)$/.test(one.columns[first]?.type ?? '') ? first : null }];
});

export type MovedRow = Readonly<Record<string, string | number | null>>;

/** How far a table has come: key of its last row as JSON, '' = not begun; how many rows. */
export interface Cursor {
  readonly after: string;
  readonly rows: number;
}

/** One of the two places. */
export interface MoveEnd {
  readonly name: string;
  columns(table: string): Promise<readonly string[]>;
  count(table: string): Promise<number>;
  /** Rows behind a key, in the key's order. @param after null = from the first. */
  read(
    table: MovedTable,
    columns: readonly string[],
    after: readonly (string | number | null)[] | null,
    limit: number,
  ): Promise<MovedRow[]>;
  /** Last assigned numbers, by table. */
  numbers(): Promise<ReadonlyMap<string, number>>;
  /** Changes when anything is written that matters. */
  mark(): Promise<string>;
  /** @throws AppError move_busy, move_node_lives when another process uses it. */
  rejectBusy(): Promise<void>;
  /** For the source. @throws AppError move_node_owes, move_unsettled when charges of nodes that are gone may be missing. */
  rejectOwing?(): Promise<void>;
}

/** The place that is filled. */
export interface MoveTarget extends MoveEnd {
  /** Ready to be filled: emptied where that is needed. @param mark of the source. @returns how far earlier work came. @throws AppError move_not_empty */
  prepare(mark: string): Promise<ReadonlyMap<string, Cursor>>;
  /** Rows and the place behind them, together. */
  write(table: MovedTable, columns: readonly string[], rows: readonly MovedRow[], cursor: Cursor): Promise<void>;
  /** Everything is there and equal: numbers go on where the source stopped, and the place may be used. */
  finish(numbers: ReadonlyMap<string, number>): Promise<void>;
}
