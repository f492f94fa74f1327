/** Handlers that rows call. Rows are rendered again when their handlers change, so these stay the same and look up the newest props. */
import { useCallback, useRef } from 'react';
import type { Selection } from './column.ts';

export interface Handled<Row> {
  readonly selection?: Selection;
  readonly onOpen?: (row: Row) => void;
}

export function useHandlers<Row>(props: Handled<Row>) {
  const latest = useRef(props);
  latest.current = props;
  const select = useCallback((id: number, on: boolean) => {
    const { selection: now } = latest.current;
    const selected = new Set(now?.selected);
    if (on) selected.add(id);
    else selected.delete(id);
    now?.onChange(selected);
  }, []);
  const open = useCallback((row: Row) => latest.current.onOpen?.(row), []);
  return { select, open };
}
