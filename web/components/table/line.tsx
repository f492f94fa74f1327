/** One row; rendered again only when what it shows has changed, so that scrolling costs only the rows that come into view. */
import { memo, type ReactNode } from 'react';
import type { Column } from './column.ts';

export interface LineProps<Row extends { readonly id: number }> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  /** null = rows cannot be chosen. */
  readonly selected: boolean | null;
  readonly onSelect: (id: number, on: boolean) => void;
  readonly onOpen: ((row: Row) => void) | undefined;
  /** It is open beside the table. */
  readonly current: boolean;
  /** Names the box that chooses a row. */
  readonly labelOf: (id: number) => string;
  readonly note: ((row: Row) => ReactNode) | undefined;
  /** Of many: which row this is, and who wants to know its height. */
  readonly index: number | undefined;
  readonly measure: ((row: HTMLTableRowElement | null) => void) | undefined;
}

/** Buttons and links inside a row do their own work. */
export const isControl = (target: EventTarget): boolean =>
  (target as HTMLElement).closest('button, a, input, select, label, textarea') !== null;
export const shapeOf = <Row,>(column: Column<Row>): string =>
  `${column.number ? 'number' : ''} ${column.id === 'actions' ? 'actions' : ''} ${column.lead ? 'lead' : ''} ${column.end ? 'ends max-sm:ml-auto max-sm:order-6' : ''} ${column.key ? '' : 'max-sm:hidden'}`;

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
}

function PlainCells<Row>({ row, columns }: CellsProps<Row>): ReactNode {
  const cells: ReactNode[] = [];
  for (let at = 0; at < columns.length; at++) {
    const column = columns[at] as Column<Row>;
    const over = column.over?.(row) ?? [];
    let span = 1;
    while (over.includes(columns[at + span]?.id ?? '')) span++;
    cells.push(
      <td key={column.id} colSpan={span === 1 ? undefined : span} className={shapeOf(column)}>
        {column.cell?.(row)}
      </td>,
    );
    at += span - 1;
  }
  return cells;
}

/** Choosing a row changes its box, not what it says. */
const Cells = memo(PlainCells) as typeof PlainCells;

function PlainLine<Row extends { readonly id: number }>(props: LineProps<Row>) {
  const { row, columns, selected, onSelect, onOpen, current, note, labelOf, index, measure } = props;
  const problem = note?.(row);
  return (
    <>
      <tr
        ref={measure}
        data-row={row.id}
        data-index={index}
        tabIndex={-1}
        aria-selected={selected ?? undefined}
        aria-current={current || undefined}
        className={problem ? 'has-note' : undefined}
        onClick={(event) => {
          if (!isControl(event.target)) onOpen?.(row);
        }}
      >
        {selected === null ? null : (
          <td className="max-sm:hidden">
            <input
              type="checkbox"
              className="size-4 accent-(--accent)"
              aria-label={labelOf(row.id)}
              checked={selected}
              onChange={(event) => onSelect(row.id, event.target.checked)}
            />
          </td>
        )}
        <Cells row={row} columns={columns} />
      </tr>
      {problem ? (
        <tr className="note">
          <td colSpan={columns.length + (selected === null ? 0 : 1)}>{problem}</td>
        </tr>
      ) : null}
    </>
  );
}

export const Line = memo(PlainLine) as typeof PlainLine;
