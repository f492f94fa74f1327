/** The one table of the console. */
import { type ColumnDef, tableFeatures, useTable } from '@tanstack/react-table';
import type { ReactNode } from 'react';

const features = tableFeatures({});

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly number?: boolean;
  /** Shown on a phone too. */
  readonly key?: boolean;
}

export interface DataTableProps<Row extends { readonly id: number }> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly empty: ReactNode;
  readonly loading: boolean;
  readonly onOpen?: (row: Row) => void;
}

export function DataTable<Row extends { readonly id: number }>({
  caption,
  rows,
  columns,
  empty,
  loading,
  onOpen,
}: DataTableProps<Row>) {
  const table = useTable({
    features,
    data: rows as Row[],
    columns: columns.map(
      (column): ColumnDef<typeof features, Row> => ({
        id: column.id,
        header: column.header,
        accessorFn: (row) => row.id,
      }),
    ),
    getRowId: (row) => String(row.id),
  });
  const shape = (column: Column<Row> | undefined): string =>
    `${column?.number ? 'number' : ''} ${column?.key ? '' : 'max-sm:hidden'}`;
  if (!loading && rows.length === 0) return <div className="px-5 py-8 text-ink-2">{empty}</div>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section className="overflow-auto" aria-busy={loading} aria-label={caption} tabIndex={0}>
      <table className="sheet-table">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={shape(column)}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr
              key={row.id}
              onClick={(event) => {
                // Buttons and links inside a row do their own work.
                if (!(event.target as HTMLElement).closest('button, a, input, select')) onOpen?.(row.original);
              }}
            >
              {columns.map((column) => (
                <td key={column.id} className={shape(column)}>
                  {column.cell(row.original)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
