/** The rows of a table; of many only those in view are built, and scrolling builds nothing else. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useCallback, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from './column.ts';
import { Line } from './line.tsx';

/** Beyond this, rows out of sight are not built. */
export const virtualFrom = 100;
const overscan = 6;
/** A row with the line under it. Cards on a phone are several times as high as a row, and each its own. */
function heightOf(row: HTMLTableRowElement): number {
  const next = row.nextElementSibling;
  return row.offsetHeight + (next instanceof HTMLElement && next.className === 'note' ? next.offsetHeight : 0);
}
/** The end is near when this many rows are left. */
const nearEnd = 60;

export interface BodyProps<Row extends { readonly id: number }> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** null = rows cannot be chosen. */
  readonly selected: ReadonlySet<number> | null;
  readonly onSelect: (id: number, on: boolean) => void;
  readonly onOpen: (row: Row) => void;
  readonly current: number | undefined;
  readonly note: ((row: Row) => ReactNode) | undefined;
  /** What scrolls, null = not there yet. */
  readonly scroller: HTMLElement | null;
  /** Pixels, roughly. */
  readonly rowHeight: number;
  /** Called whenever the last rows come near. */
  readonly onEnd: (() => void) | undefined;
}

function PlainBody<Row extends { readonly id: number }>(props: BodyProps<Row>) {
  const { rows, columns, selected, onSelect, onOpen, current, note, scroller, rowHeight, onEnd } = props;
  const { t } = useTranslation();
  const labelOf = useCallback((id: number) => t('table.row', { id }), [t]);
  const many = rows.length > virtualFrom || onEnd !== undefined;
  const virtual = useVirtualizer<HTMLElement, HTMLTableRowElement>({
    count: many ? rows.length : 0,
    getScrollElement: () => scroller,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    measureElement: heightOf,
    // Rows that come a moment after the first ones would push down what is below them.
    initialRect: { width: 0, height: globalThis.innerHeight ?? 0 },
    overscan,
  });
  const windowed = virtual.getVirtualItems();
  const [first, last] = [windowed.at(0), windowed.at(-1)];
  const near = last !== undefined && last.index >= rows.length - nearEnd;
  // biome-ignore lint/correctness/useExhaustiveDependencies: every growth may leave the end as near as before
  useEffect(() => {
    if (near) onEnd?.();
  }, [near, rows.length, onEnd]);
  const firstVisible = many ? (first?.index ?? 0) : 0;
  const visible = many ? rows.slice(firstVisible, (last?.index ?? -1) + 1) : rows;
  const span = columns.length + (selected === null ? 0 : 1);
  const gap = (height: number) => (
    <tr>
      <td colSpan={span} style={{ height }} />
    </tr>
  );
  return (
    <tbody>
      {first !== undefined && first.start > 0 ? gap(first.start) : null}
      {visible.map((row, index) => (
        <Line
          key={row.id}
          row={row}
          index={many ? firstVisible + index : undefined}
          measure={many ? virtual.measureElement : undefined}
          columns={columns}
          selected={selected === null ? null : selected.has(row.id)}
          onSelect={onSelect}
          onOpen={onOpen}
          current={row.id === current}
          note={note}
          labelOf={labelOf}
        />
      ))}
      {last !== undefined && last.end < virtual.getTotalSize() ? gap(virtual.getTotalSize() - last.end) : null}
    </tbody>
  );
}

export const Body = memo(PlainBody) as typeof PlainBody;
