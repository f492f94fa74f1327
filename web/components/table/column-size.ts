/** Columns of a long table keep the widths that its first rows gave them: to measure every row that scrolls by costs more than to draw it. */
import { type RefObject, useLayoutEffect, useState } from 'react';

interface ColumnWidths {
  readonly key: string;
  readonly columns: unknown;
  readonly widths: readonly number[];
}

/**
 * @param key what the widths follow from: another one is measured again.
 * @param columns how the cells are drawn: when they change while the first rows are in sight, the widths are measured again.
 * @returns pixels per column; null = as the contents want them, also where rows are cards.
 */
export function useColumnSizes(
  box: RefObject<HTMLElement | null>,
  enabled: boolean,
  key: string,
  columns: unknown,
): readonly number[] | null {
  const [measured, setMeasured] = useState<ColumnWidths | null>(null);
  const [boxWidth, setBoxWidth] = useState(0);
  const whole = `${key} ${boxWidth}`;
  const isCurrent =
    measured?.key === whole && (measured.columns === columns || (box.current !== null && box.current.scrollTop > 0));
  useLayoutEffect(() => {
    const element = box.current;
    if (!enabled || element === null) return;
    const observer = new ResizeObserver(() => setBoxWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, enabled]);
  useLayoutEffect(() => {
    if (isCurrent || !enabled || boxWidth === 0 || matchMedia('(width < 600px)').matches) return;
    let frame = 0;
    const measure = (): void => {
      const table = box.current;
      if (table === null) return;
      // The rows are drawn a moment after the box; heads alone are narrower than their columns.
      if (table.querySelector('tbody tr[data-row]') === null) {
        frame = requestAnimationFrame(measure);
        return;
      }
      const widths = [...table.querySelectorAll('thead th')].map((head) => head.getBoundingClientRect().width);
      setMeasured({ key: whole, columns, widths });
    };
    measure();
    return () => cancelAnimationFrame(frame);
  }, [box, enabled, boxWidth, whole, isCurrent, columns]);
  return enabled && isCurrent ? measured.widths : null;
}
