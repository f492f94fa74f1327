/** Columns of a long table keep the widths that its first rows gave them: to measure every row that scrolls by costs more than to draw it. */
import { type RefObject, useLayoutEffect, useState } from 'react';

interface Measured {
  readonly key: string;
  readonly columns: unknown;
  readonly widths: readonly number[];
}

/**
 * @param key what the widths follow from: another one is measured again.
 * @param columns how the cells are drawn: where they change while the first rows are in sight, these are measured again.
 * @returns pixels per column; null = as the contents want them, also where rows are cards.
 */
export function useWidths(
  box: RefObject<HTMLElement | null>,
  wanted: boolean,
  key: string,
  columns: unknown,
): readonly number[] | null {
  const [measured, setMeasured] = useState<Measured | null>(null);
  const [boxWidth, setBoxWidth] = useState(0);
  const whole = `${key} ${boxWidth}`;
  const isStale = measured?.key === whole && measured.columns !== columns && box.current?.scrollTop === 0;
  useLayoutEffect(() => {
    const element = box.current;
    if (!wanted || element === null) return;
    const observer = new ResizeObserver(() => setBoxWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, wanted]);
  useLayoutEffect(() => {
    if (isStale) return setMeasured(null);
    if (!wanted || boxWidth === 0 || matchMedia('(width < 600px)').matches) return setMeasured(null);
    if (measured?.key === whole) return;
    const measure = (): void => {
      const heads = [...(box.current?.querySelectorAll('thead th') ?? [])];
      setMeasured({ key: whole, columns, widths: heads.map((head) => head.getBoundingClientRect().width) });
    };
    const hasRows = (): boolean => box.current?.querySelector('tbody tr[data-row]') != null;
    if (hasRows()) return measure();
    // The rows come a moment after what they scroll in; heads alone are narrower than their columns.
    let frame = requestAnimationFrame(function look() {
      if (hasRows()) measure();
      else frame = requestAnimationFrame(look);
    });
    return () => cancelAnimationFrame(frame);
  }, [box, wanted, boxWidth, whole, isStale, measured, columns]);
  return wanted && measured?.key === whole && !isStale ? measured.widths : null;
}
