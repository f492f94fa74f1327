/** Single keys on the rows: up and down, pick, open. */
import type { KeyboardEvent, RefObject } from 'react';
import type { Selection } from './column.ts';
import { isControl } from './line.tsx';

export interface RowKeys<Row> {
  readonly box: RefObject<HTMLElement | null>;
  readonly rows: readonly Row[];
  readonly selection: Selection | undefined;
  readonly select: (id: number, on: boolean) => void;
  readonly open: (row: Row) => void;
}

export function useRowKeys<Row extends { readonly id: number }>({ box, rows, selection, select, open }: RowKeys<Row>) {
  return (event: KeyboardEvent<HTMLElement>) => {
    if (isControl(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('tbody tr[data-row]') ?? [])];
    const here = all.indexOf((event.target as HTMLElement).closest('tr') ?? document.body);
    const row = rows.find(({ id }) => String(id) === all[here]?.dataset.row);
    if (event.key === 'j' || event.key === 'ArrowDown') all[Math.min(all.length - 1, here + 1)]?.focus();
    else if (event.key === 'k' || event.key === 'ArrowUp') all[Math.max(0, here - 1)]?.focus();
    else if (event.key === 'x' && selection !== undefined && row !== undefined)
      select(row.id, !selection.selected.has(row.id));
    else if (event.key === 'Enter' && row !== undefined) open(row);
    else return;
    event.preventDefault();
  };
}
