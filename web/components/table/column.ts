/** A column of the console's tables. */
import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly number?: boolean;
  /** Part of the card on a phone. */
  readonly key?: boolean;
  /** Present: the head sorts the rows that are shown. */
  readonly sort?: (row: Row) => number | string;
  /** Not shown until somebody asks for it. */
  readonly hidden?: boolean;
}

/** The rows somebody has picked. */
export interface Selection {
  readonly chosen: ReadonlySet<number>;
  readonly onChange: (chosen: ReadonlySet<number>) => void;
}
