/** Which columns are shown and which of them sorts the rows; the address remembers it. */
import {
  type ColumnDef,
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useMemo } from 'react';
import { useRoom } from '../../lib/narrow.ts';
import { useUrl } from '../../lib/url.ts';
import { type Column, isShown } from './column.ts';

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const noRows: readonly never[] = [];
const compare = (one: number | string, other: number | string): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : String(one).localeCompare(String(other));

export interface SortResult<Row> {
  readonly sortOn: (id: string) => void;
  readonly direction: (id: string) => 'ascending' | 'descending' | 'none';
  readonly visibleColumns: readonly Column<Row>[];
  /** Changes when other columns are shown. */
  readonly visibleKey: string;
  /** The rows in their order. */
  readonly ordered: readonly Row[];
}

export interface SortOptions<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** What the reader chose to see. */
  readonly visible: Readonly<Record<string, boolean>>;
}

export function useSort<Row extends { readonly id: number }>({
  rows,
  columns,
  visible,
}: SortOptions<Row>): SortResult<Row> {
  const url = useUrl();
  const room = useRoom();
  const requested = url.get('sort');
  const sorting: SortingState =
    requested === '' ? [] : [{ id: requested.replace(/^-/, ''), desc: requested.startsWith('-') }];
  const defs = useMemo(
    () =>
      columns.map(
        (column): ColumnDef<typeof features, Row> => ({
          id: column.id,
          header: column.header,
          accessorFn: (row) => column.sort?.(row) ?? row.id,
          enableSorting: column.sort !== undefined,
          sortFn: (one, other) =>
            column.sort === undefined ? 0 : compare(column.sort(one.original), column.sort(other.original)),
        }),
      ),
    [columns],
  );
  // Rows that keep their order need no model; a log has thousands of them.
  const sorted = sorting.filter(({ id }) => columns.some((column) => column.id === id && column.sort !== undefined));
  const table = useTable({
    features,
    data: (sorted.length === 0 ? noRows : rows) as Row[],
    columns: defs,
    getRowId: (row) => String(row.id),
    state: {
      sorting: sorted,
      columnVisibility: Object.fromEntries(columns.map((column) => [column.id, isShown(column, visible, room)])),
    },
  });
  const visibleIds = columns.filter(({ id }) => table.getColumn(id)?.getIsVisible() ?? true).map(({ id }) => id);
  const visibleKey = visibleIds.join();
  const visibleColumns = useMemo(
    () => columns.filter(({ id }) => visibleKey.split(',').includes(id)),
    [columns, visibleKey],
  );
  const model = sorted.length === 0 ? null : table.getRowModel().rows;
  const ordered = useMemo(() => model?.map(({ original }) => original) ?? rows, [model, rows]);
  const sortOn = (id: string) => {
    const current = sorting[0];
    url.set('sort', current?.id !== id ? id : current.desc ? '' : `-${id}`);
  };
  const direction = (id: string): 'ascending' | 'descending' | 'none' =>
    sorting[0]?.id !== id ? 'none' : sorting[0].desc ? 'descending' : 'ascending';
  return { sortOn, direction, visibleColumns, visibleKey, ordered };
}
