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
import { useDeferredValue, useMemo } from 'react';
import { useRoom } from '../../lib/narrow.ts';
import { useUrl } from '../../lib/url.ts';
import { type Column, isShown } from './column.ts';

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const noRows: readonly never[] = [];
const texts = new Intl.Collator();
const compare = (one: number | string, other: number | string): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : texts.compare(String(one), String(other));

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
  /** Holds where the address names none. */
  readonly initial?: string | undefined;
}

/** @param text of the address. */
const sortingOf = (text: string): SortingState =>
  text === '' ? [] : [{ id: text.replace(/^-/, ''), desc: text.startsWith('-') }];

export function useSort<Row extends { readonly id: number }>({
  rows: given,
  columns,
  visible,
  initial = '',
}: SortOptions<Row>): SortResult<Row> {
  const url = useUrl();
  const room = useRoom();
  const requested = sortingOf(url.get('sort') || initial);
  // What was pressed or typed is painted first; the rows follow.
  const sort = useDeferredValue(url.get('sort') || initial);
  const settled = useDeferredValue(given);
  const rows = settled.length === 0 ? given : settled;
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
  const sorted = useMemo(
    () => sortingOf(sort).filter(({ id }) => columns.some((column) => column.id === id && column.sort !== undefined)),
    [sort, columns],
  );
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
    const current = requested[0];
    // After the order that holds by itself comes the other one: to name none would change nothing.
    const next = initial === `-${id}` ? id : '';
    url.set('sort', current?.id !== id ? id : current.desc ? next : `-${id}`);
  };
  const direction = (id: string): 'ascending' | 'descending' | 'none' =>
    requested[0]?.id !== id ? 'none' : requested[0].desc ? 'descending' : 'ascending';
  return { sortOn, direction, visibleColumns, visibleKey, ordered };
}
