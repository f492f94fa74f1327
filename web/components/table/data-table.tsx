/** The one table of the console: sorting, columns, density, selection, keys, many rows, cards on a phone. */
import {
  type ColumnDef,
  columnVisibilityFeature,
  createSortedRowModel,
  type RowSelectionState,
  rowSelectionFeature,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { FilterPlace } from '../../../server/contract/endpoints/access-token.ts';
import { useUrl } from '../../lib/url.ts';
import type { Column, Selection } from './column.ts';
import { isControl, Line, shapeOf } from './line.tsx';
import { usePreferences } from './preferences.ts';
import { SavedFilters } from './saved-filters.tsx';
import { ViewOptions } from './view-options.tsx';

const features = tableFeatures({
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
/** Beyond this, rows out of sight are not built. */
const virtualFrom = 100;
const heights = { compact: 36, roomy: 44 } as const;

export interface DataTableProps<Row extends { readonly id: number }> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly empty: ReactNode;
  readonly loading: boolean;
  readonly onOpen?: (row: Row) => void;
  readonly selection?: Selection;
  /** Where the choice of columns is remembered; without it there is none. */
  readonly storeKey?: string;
  /** Which of the reader's saved filters belong here. */
  readonly place?: FilterPlace;
  /** Filters, at the left of the bar above. */
  readonly bar?: ReactNode;
  /** A line under a row that has a problem. */
  readonly note?: (row: Row) => ReactNode;
}

const compare = (one: number | string, other: number | string): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : String(one).localeCompare(String(other));
export function DataTable<Row extends { readonly id: number }>(props: DataTableProps<Row>) {
  const { caption, rows, columns, empty, loading, onOpen, selection, storeKey = '', place, bar, note } = props;
  const { t } = useTranslation();
  const url = useUrl();
  const preferences = usePreferences(storeKey);
  const box = useRef<HTMLElement>(null);
  const asked = url.get('sort');
  const sorting: SortingState = asked === '' ? [] : [{ id: asked.replace(/^-/, ''), desc: asked.startsWith('-') }];
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
  const selected: RowSelectionState = {};
  for (const id of selection?.chosen ?? []) selected[String(id)] = true;
  const table = useTable({
    features,
    data: rows as Row[],
    columns: defs,
    getRowId: (row) => String(row.id),
    state: {
      sorting: sorting.filter(({ id }) => columns.some((column) => column.id === id && column.sort !== undefined)),
      columnVisibility: Object.fromEntries(
        columns.map(({ id, hidden }) => [id, preferences.shown[id] ?? hidden !== true]),
      ),
      rowSelection: selected,
    },
    onRowSelectionChange: (change) => {
      const after = typeof change === 'function' ? change(selected) : change;
      selection?.onChange(
        new Set(
          Object.keys(after)
            .filter((id) => after[id])
            .map(Number),
        ),
      );
    },
  });
  const visibleIds = columns.filter(({ id }) => table.getColumn(id)?.getIsVisible() ?? true).map(({ id }) => id);
  const visibleKey = visibleIds.join();
  const shown = useMemo(() => columns.filter(({ id }) => visibleKey.split(',').includes(id)), [columns, visibleKey]);
  // Rows are built anew when their handlers change, so the handlers look up the newest props.
  const latest = useRef(props);
  latest.current = props;
  const select = useCallback((id: number, on: boolean) => {
    const { selection: now } = latest.current;
    const chosen = new Set(now?.chosen);
    if (on) chosen.add(id);
    else chosen.delete(id);
    now?.onChange(chosen);
  }, []);
  const open = useCallback((row: Row) => latest.current.onOpen?.(row), []);
  const lines = table.getRowModel().rows;
  const many = lines.length > virtualFrom;
  const virtual = useVirtualizer({
    count: many ? lines.length : 0,
    getScrollElement: () => box.current,
    estimateSize: () => heights[preferences.density],
    overscan: 12,
  });
  const windowed = virtual.getVirtualItems();
  const [first, last] = [windowed.at(0), windowed.at(-1)];
  const visible = many ? windowed.flatMap(({ index }) => lines[index] ?? []) : lines;
  const sortOn = (id: string) => {
    const current = sorting[0];
    url.set('sort', current?.id !== id ? id : current.desc ? '' : `-${id}`);
  };
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    if (isControl(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('tbody tr[data-row]') ?? [])];
    const here = all.indexOf((event.target as HTMLElement).closest('tr') ?? document.body);
    const row = lines.find(({ id }) => id === all[here]?.dataset.row);
    if (event.key === 'j' || event.key === 'ArrowDown') all[Math.min(all.length - 1, here + 1)]?.focus();
    else if (event.key === 'k' || event.key === 'ArrowUp') all[Math.max(0, here - 1)]?.focus();
    else if (event.key === 'x' && selection !== undefined && row !== undefined) row.toggleSelected();
    else if (event.key === 'Enter' && row !== undefined) onOpen?.(row.original);
    else return;
    event.preventDefault();
  };
  const direction = (id: string): 'ascending' | 'descending' | 'none' =>
    sorting[0]?.id !== id ? 'none' : sorting[0].desc ? 'descending' : 'ascending';
  const span = shown.length + (selection === undefined ? 0 : 1);

  return (
    <>
      {bar === undefined && storeKey === '' ? null : (
        <div className="flex flex-wrap items-center gap-2 px-5 pb-3">
          {bar}
          {storeKey === '' ? null : (
            <span className="ml-auto flex gap-2">
              {place === undefined ? null : <SavedFilters place={place} />}
              <ViewOptions columns={columns} preferences={preferences} />
            </span>
          )}
        </div>
      )}
      {!loading && rows.length === 0 ? (
        <div className="border-t border-line px-5 py-8 text-ink-2">{empty}</div>
      ) : (
        <section
          ref={box}
          className={many ? 'max-h-[calc(100dvh-220px)] overflow-auto' : 'overflow-auto'}
          aria-busy={loading}
          aria-label={caption}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
          tabIndex={0}
          onKeyDown={onKey}
        >
          <table className={`sheet-table cards ${preferences.density}`}>
            <caption className="sr-only">{caption}</caption>
            <thead>
              <tr>
                {selection === undefined ? null : (
                  <th scope="col" className="w-8 max-sm:hidden">
                    <input
                      type="checkbox"
                      className="size-4 accent-(--accent)"
                      aria-label={t('table.page')}
                      checked={lines.length > 0 && table.getIsAllRowsSelected()}
                      onChange={(event) => table.toggleAllRowsSelected(event.target.checked)}
                    />
                  </th>
                )}
                {shown.map((column) => (
                  <th
                    key={column.id}
                    scope="col"
                    className={shapeOf(column)}
                    aria-sort={column.sort === undefined ? undefined : direction(column.id)}
                  >
                    {column.sort === undefined ? (
                      column.header
                    ) : (
                      <button type="button" className="hover:text-ink-1" onClick={() => sortOn(column.id)}>
                        {column.header}
                        {direction(column.id) === 'none' ? '' : direction(column.id) === 'ascending' ? ' ↑' : ' ↓'}
                      </button>
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {first !== undefined && first.start > 0 ? (
                <tr>
                  <td colSpan={span} style={{ height: first.start }} />
                </tr>
              ) : null}
              {visible.map((row) => (
                <Line
                  key={row.id}
                  row={row.original}
                  columns={shown}
                  selected={selection === undefined ? null : selection.chosen.has(row.original.id)}
                  onSelect={select}
                  onOpen={open}
                  note={note}
                />
              ))}
              {many && last !== undefined && last.end < virtual.getTotalSize() ? (
                <tr>
                  <td colSpan={span} style={{ height: virtual.getTotalSize() - last.end }} />
                </tr>
              ) : null}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}
