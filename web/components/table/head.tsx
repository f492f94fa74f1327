/** The head of the table: names of columns that sort, and the box that picks all rows. */
import { useTranslation } from 'react-i18next';
import type { Column, Selection } from './column.ts';
import { shapeOf } from './line.tsx';
import type { SortResult } from './use-sort.ts';

const arrows = { none: '', ascending: ' ↑', descending: ' ↓' } as const;
/** What the address calls the order of a column; null = it has none. */
const orderOf = <Row,>({ id, sort, order }: Column<Row>): string | null => order ?? (sort === undefined ? null : id);

export interface HeadProps<Row> {
  readonly sortOn: SortResult<Row>['sortOn'];
  readonly direction: SortResult<Row>['direction'];
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly selection: Selection | undefined;
}

export function Head<Row extends { readonly id: number }>({
  columns,
  rows,
  selection,
  sortOn,
  direction,
}: HeadProps<Row>) {
  const { t } = useTranslation();
  const allSelected = selection !== undefined && rows.length > 0 && rows.every(({ id }) => selection.selected.has(id));
  return (
    <thead>
      <tr>
        {selection === undefined ? null : (
          <th scope="col" className="w-8 max-sm:hidden">
            <input
              type="checkbox"
              className="size-4 accent-(--accent)"
              aria-label={t('table.page')}
              checked={allSelected}
              onChange={(event) => selection.onChange(new Set(event.target.checked ? rows.map(({ id }) => id) : []))}
            />
          </th>
        )}
        {columns.map((column) => (
          <th
            key={column.id}
            scope="col"
            className={shapeOf(column)}
            aria-sort={orderOf(column) === null ? undefined : direction(orderOf(column) ?? '')}
          >
            {orderOf(column) === null ? (
              column.header
            ) : (
              <button
                type="button"
                className="hover:text-ink-1"
                title={column.sortedBy}
                onClick={() => sortOn(orderOf(column) ?? '')}
              >
                {column.header}
                {arrows[direction(orderOf(column) ?? '')]}
              </button>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}
