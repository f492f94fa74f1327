/** The one table of the console: sorting, columns, density, selection, keys, many rows, cards on a phone. */
import { type ReactNode, type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { FilterPlace } from '../../../server/contract/endpoints/access-token.ts';
import type { ListState } from '../../lib/read.ts';
import { FailureNote } from '../failure.tsx';
import { Scrolls } from '../scrolls.tsx';
import { Waiting } from '../waiting.tsx';
import { Bar } from './bar.tsx';
import { Body, virtualFrom } from './body.tsx';
import type { Column, Selection } from './column.ts';
import { useColumnSizes } from './column-size.ts';
import { Head } from './head.tsx';
import { usePreferences } from './preferences.ts';
import { useHandlers } from './use-handlers.ts';
import { useMoneyColumns } from './use-money-columns.ts';
import { useRowKeys } from './use-row-keys.ts';
import { useSort } from './use-sort.ts';

/** Widths that were measured once, for rows that come and go. */
function ColumnGroup({ widths }: { readonly widths: readonly number[] | null }) {
  if (widths === null) return null;
  return (
    <colgroup>
      {widths.map((width, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other identity here
        <col key={index} style={{ width }} />
      ))}
    </colgroup>
  );
}

const heights = { compact: 36, roomy: 44 } as const;

/** Pixels above a list that scrolls by itself. It reaches the bottom of the window, unless it begins below this. */
const maxTop = 220;

function useTop(scroller: HTMLElement | null, many: boolean): number {
  const [top, setTop] = useState(maxTop);
  // Measured once: its height may move what stands above it.
  useLayoutEffect(() => {
    if (!many || scroller === null) return;
    setTop(Math.min(maxTop, Math.max(0, Math.ceil(scroller.getBoundingClientRect().top))));
  }, [many, scroller]);
  return top;
}

/** When what was open beside the table closes, the keyboard is at its row again, unless it went elsewhere. */
function useFocusBack(box: RefObject<HTMLElement | null>, current: number | undefined): void {
  const last = useRef(current);
  useEffect(() => {
    const left = last.current;
    last.current = current;
    if (left === undefined || current !== undefined) return;
    const frame = requestAnimationFrame(() => {
      const { activeElement } = document;
      if (activeElement !== document.body && activeElement !== box.current) return;
      box.current?.querySelector<HTMLElement>(`tr[data-row="${left}"]`)?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [box, current]);
}

export interface DataTableProps<Row extends { readonly id: number }> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly empty: ReactNode;
  readonly list: ListState;
  readonly onOpen?: (row: Row) => void;
  readonly selection?: Selection;
  /** Where the choice of columns is remembered; without it there is none. */
  readonly storeKey?: string;
  /** How the rows are sorted where the address does not say it. */
  readonly initialSort?: string;
  /** Which of the reader's saved filters belong here. */
  readonly place?: FilterPlace;
  /** There is nothing that could be narrowed or laid out otherwise: once that is known, the bar above has no use. */
  readonly blank?: boolean;
  /** Filters, at the left of the bar above. */
  readonly bar?: ReactNode;
  /** Between the bar and the rows. */
  readonly header?: ReactNode;
  /** At the left of the rows. */
  readonly sidebar?: ReactNode;
  /** The row that is open beside the table. */
  readonly current?: number | undefined;
  /** Rows of 32 pixels, where the reader did not ask for roomy ones. */
  readonly dense?: boolean;
  /** A line under a row that has a problem. */
  readonly note?: (row: Row) => ReactNode;
  /** The last rows are near, and there may be more. Stable. */
  readonly onEnd?: (() => void) | undefined;
}

export function DataTable<Row extends { readonly id: number }>(props: DataTableProps<Row>) {
  const {
    caption,
    rows,
    columns,
    empty,
    list,
    selection,
    storeKey = '',
    initialSort,
    place,
    blank = false,
    bar,
    header,
    sidebar,
    current,
    dense = false,
    note,
    onEnd,
  } = props;
  const preferences = usePreferences(storeKey);
  const box = useRef<HTMLElement>(null);
  // Rows mount together with what scrolls: they are looked for again when it is there.
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const holdBox = useCallback((element: HTMLElement | null) => {
    box.current = element;
    setScroller(element);
  }, []);
  const { sortOn, direction, visibleColumns, visibleKey, ordered } = useSort({
    rows,
    columns,
    visible: preferences.visible,
    initial: initialSort,
  });
  const cells = useMoneyColumns(visibleColumns, ordered);
  const { select: selectRow, open } = useHandlers(props);
  useFocusBack(box, current);
  const many = ordered.length > virtualFrom || onEnd !== undefined;
  const top = useTop(scroller, many);
  const widths = useColumnSizes(box, many, `${visibleKey} ${preferences.density} ${ordered[0]?.id ?? ''}`, columns);
  const onKey = useRowKeys({ box, rows: ordered, selection, select: selectRow, open });

  const sheet =
    rows.length === 0 ? (
      list.failure === null ? (
        <div className={`px-5 py-8 text-ink-2 ${blank || bar === undefined ? '' : 'border-t border-line'}`}>
          {list.pending ? <Waiting /> : empty}
        </div>
      ) : null
    ) : (
      <Scrolls
        ref={holdBox}
        style={many ? { maxHeight: `calc(100dvh - ${top}px)` } : undefined}
        className={`overflow-auto ${many ? 'min-h-64' : ''} ${list.failure === null ? '' : 'opacity-60'}`}
        aria-busy={list.pending}
        aria-label={caption}
        onKeyDown={onKey}
      >
        <table
          className={`sheet-table cards ${dense && preferences.density === 'compact' ? 'dense' : preferences.density} ${widths === null ? '' : 'measured'}`}
          style={widths === null ? undefined : { width: widths.reduce((sum, width) => sum + width, 0) }}
        >
          <caption className="sr-only">{caption}</caption>
          <ColumnGroup widths={widths} />
          <Head columns={cells} rows={ordered} selection={selection} sortOn={sortOn} direction={direction} />
          <Body
            rows={ordered}
            columns={cells}
            selected={selection?.selected ?? null}
            onSelect={selectRow}
            onOpen={open}
            current={current}
            note={note}
            scroller={scroller}
            rowHeight={heights[preferences.density]}
            onEnd={onEnd}
          />
        </table>
      </Scrolls>
    );

  return (
    <>
      {blank && !list.pending && list.failure === null ? null : (
        <Bar {...{ columns, storeKey, preferences, place, bar }} />
      )}
      {list.failure === null ? null : (
        <div className="border-t border-line px-5 py-3">
          <FailureNote failure={list.failure} />
        </div>
      )}
      {header}
      {sidebar === undefined || sidebar === null ? (
        sheet
      ) : (
        <div className="grid grid-cols-[auto_minmax(0,1fr)]">
          <aside className="border-t border-r border-line">{sidebar}</aside>
          <div className="min-w-0">{sheet}</div>
        </div>
      )}
    </>
  );
}
