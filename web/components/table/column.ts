/** A column of the console's tables. */
import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** Not needed for amounts. */
  readonly cell?: (row: Row) => ReactNode;
  /** Quota, shown as money; null = this row has none, and its cell says what it has instead. */
  readonly amount?: (row: Row) => number | null;
  /** `short` where each amount is read for itself; without it those of a column add up to the last decimal. */
  readonly form?: 'short';
  readonly number?: boolean;
  /** Columns right behind it, in their order, whose place its cell takes in this row. */
  readonly over?: (row: Row) => readonly string[];
  /** Part of the card on a phone. */
  readonly key?: boolean;
  /** The card's first word, where it is not the first column. */
  readonly lead?: boolean;
  /** On a phone at the right end of its line: in each card at the same place. */
  readonly end?: boolean;
  /** Present: the head sorts the rows. Only where all of them are here. */
  readonly sort?: (row: Row) => number | string;
  /** Present: the head asks the server for this order, `-` and the name for the reverse. */
  readonly order?: string;
  /** By which of its figures a column of several sorts. */
  readonly sortedBy?: string;
  /** Hidden until the reader turns it on. */
  readonly hidden?: boolean;
  /** Least window width, in pixels; a reader who turns the column on sees it in narrower windows too. */
  readonly from?: 720 | 1024 | 1280 | 1440 | 1600;
}

/**
 * @param chosen what the reader asked for or took away.
 * @param room of the window, in pixels.
 */
export const isShown = <Row>(
  { id, hidden, from }: Column<Row>,
  chosen: Readonly<Record<string, boolean>>,
  room: number,
): boolean => chosen[id] ?? (hidden !== true && (from ?? 0) <= room);

/** The selected rows. */
export interface Selection {
  readonly selected: ReadonlySet<number>;
  readonly onChange: (selected: ReadonlySet<number>) => void;
}
