/** The one table of the console: sorting, columns, density, selection, keys, many rows, cards on a phone. */
import {
  type ColumnDef,
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { FilterPlace } from '../../../server/contract/endpoints/access-token.ts';
import { useUrl } from '../../lib/url.ts';
import { Body, virtualFrom } from './body.tsx';
import type { Column, Selection } from './column.ts';
import { Folded } from './folded.tsx';
import { isControl, shapeOf } from './line.tsx';
import { usePreferences } from './preferences.ts';
import { SavedFilters } from './saved-filters.tsx';
import { ViewOptions } from './view-options.tsx';
import { useWidths } from './widths.ts';

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const noRows: readonly never[] = [];
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
  /** The last rows are near, and there may be more. Stable. */
  readonly onEnd?: (() => void) | undefined;
}

const compare = (one: number | string, other: number | string): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : String(one).localeCompare(String(other));
export function DataTable<Row extends { readonly id: number }>(props: DataTableProps<Row>) {
  const { caption, rows, columns, empty, loading, onOpen, selection, storeKey = '', place, bar, note, onEnd } = props;
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
  // Rows that keep their order need no model; a log has thousands of them.
  const sorted = sorting.filter(({ id }) => columns.some((column) => column.id === id && column.sort !== undefined));
  const table = useTable({
    features,
    data: (sorted.length === 0 ? noRows : rows) as Row[],
    columns: defs,
    getRowId: (row) => String(row.id),
    state: {
      sorting: sorted,
      columnVisibility: Object.fromEntries(
        columns.map(({ id, hidden }) => [id, preferences.shown[id] ?? hidden !== true]),
      ),
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
  const model = sorted.length === 0 ? null : table.getRowModel().rows;
  const lines = useMemo(() => model?.map(({ original }) => original) ?? rows, [model, rows]);
  const many = lines.length > virtualFrom || onEnd !== undefined;
  const allChosen = selection !== undefined && lines.length > 0 && lines.every(({ id }) => selection.chosen.has(id));
  const widths = useWidths(box, many, `${visibleKey} ${preferences.density} ${lines[0]?.id ?? ''}`);
  const sortOn = (id: string) => {
    const current = sorting[0];
    url.set('sort', current?.id !== id ? id : current.desc ? '' : `-${id}`);
  };
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    if (isControl(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('tbody tr[data-row]') ?? [])];
    const here = all.indexOf((event.target as HTMLElement).closest('tr') ?? document.body);
    const row = lines.find(({ id }) => String(id) === all[here]?.dataset.row);
    if (event.key === 'j' || event.key === 'ArrowDown') all[Math.min(all.length - 1, here + 1)]?.focus();
    else if (event.key === 'k' || event.key === 'ArrowUp') all[Math.max(0, here - 1)]?.focus();
    else if (event.key === 'x' && selection !== undefined && row !== undefined)
      select(row.id, !selection.chosen.has(row.id));
    else if (event.key === 'Enter' && row !== undefined) onOpen?.(row);
    else return;
    event.preventDefault();
  };
  const direction = (id: string): 'ascending' | 'descending' | 'none' =>
    sorting[0]?.id !== id ? 'none' : sorting[0].desc ? 'descending' : 'ascending';

  return (
    <>
      {bar === undefined && storeKey === '' ? null : (
        <div className="flex flex-wrap items-center gap-2 px-5 pb-3">
          {bar === undefined ? null : <Folded>{bar}</Folded>}
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
          <table
            className={`sheet-table cards ${preferences.density} ${widths === null ? '' : 'measured'}`}
            style={widths === null ? undefined : { width: widths.reduce((sum, width) => sum + width, 0) }}
          >
            <caption className="sr-only">{caption}</caption>
            {widths === null ? null : (
              <colgroup>
                {widths.map((width, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other identity here
                  <col key={index} style={{ width }} />
                ))}
              </colgroup>
            )}
            <thead>
              <tr>
                {selection === undefined ? null : (
                  <th scope="col" className="w-8 max-sm:hidden">
                    <input
                      type="checkbox"
                      className="size-4 accent-(--accent)"
                      aria-label={t('table.page')}
                      checked={allChosen}
                      onChange={(event) =>
                        selection.onChange(new Set(event.target.checked ? lines.map(({ id }) => id) : []))
                      }
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
            <Body
              rows={lines}
              columns={shown}
              chosen={selection?.chosen ?? null}
              onSelect={select}
              onOpen={open}
              note={note}
              box={box}
              rowHeight={heights[preferences.density]}
              onEnd={onEnd}
            />
          </table>
        </section>
      )}
    </>
  );
}
