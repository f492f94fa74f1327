/** Columns of a long table keep the widths that its first rows gave them: to measure every row that scrolls by costs more than to draw it. */
import { type RefObject, useLayoutEffect, useState } from 'react';

interface Measured {
  readonly key: string;
  readonly widths: readonly number[];
}

/**
 * @param key what the widths follow from: another one is measured again.
 * @returns pixels per column; null = as the contents want them, also where rows are cards.
 */
export function useWidths(box: RefObject<HTMLElement | null>, wanted: boolean, key: string): readonly number[] | null {
  const [measured, setMeasured] = useState<Measured | null>(null);
  const [boxWidth, setBoxWidth] = useState(0);
  const whole = `${key} ${boxWidth}`;
  useLayoutEffect(() => {
    const element = box.current;
    if (!wanted || element === null) return;
    const observer = new ResizeObserver(() => setBoxWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, wanted]);
  useLayoutEffect(() => {
    if (!wanted || boxWidth === 0 || matchMedia('(width < 600px)').matches) return setMeasured(null);
    const heads = [...(box.current?.querySelectorAll('thead th') ?? [])];
    setMeasured({ key: whole, widths: heads.map((head) => head.getBoundingClientRect().width) });
  }, [box, wanted, boxWidth, whole]);
  return wanted && measured?.key === whole ? measured.widths : null;
}
