/** Lines or stacked bars over time; every chart of the page shares one cross-hair, and a click goes where the mark leads. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useDark } from '../../lib/theme.ts';
import { barAt, stacked, type Tick } from './overview.ts';

export interface ChartLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A custom property of the theme. */
  readonly color: string;
  readonly dashed?: boolean;
}

export interface ChartProps {
  /** Epoch seconds. */
  readonly starts: readonly number[];
  /** Seconds from one to the next. */
  readonly step: number;
  readonly lines: readonly ChartLine[];
  readonly kind: 'line' | 'bars';
  readonly height: number;
  readonly label: string;
  readonly format?: (value: number) => string;
  /** Times that the axis names. @param most so many have room. Without it there are no axes. */
  readonly ticks?: (most: number) => readonly Tick[];
  /** The time under the pointer, in epoch seconds; null = the pointer is elsewhere. */
  readonly onHover: (at: number | null) => void;
  /** @param line of stacked bars; null = none of them. */
  readonly onPick: (index: number, line: number | null) => void;
}

const tickWidth = 46;
const maxTicks = 10;
const digitWidth = 6.5;
/** Values are whole numbers, and so is what lies between two lines. */
const increments = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat();

const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart(props: ChartProps) {
  const { starts, step, lines, kind, height, label, format = String, ticks } = props;
  const place = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const latest = useRef(props);
  latest.current = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that are read
  useEffect(() => {
    const holder = place.current;
    if (holder === null) return;
    const font = `11px ${token('--font-sans')}`;
    const [first = 0] = starts;
    const end = first + starts.length * step;
    const named = (plot: uPlot): readonly Tick[] =>
      ticks?.(Math.min(maxTicks, Math.floor((plot.width - 2 * tickWidth) / tickWidth))) ?? [];
    const axis = {
      stroke: token('--text-3'),
      font,
      grid: { stroke: token('--data-grid'), width: 1 },
      ticks: { show: false },
    };
    const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 48], radius: 0 }) : undefined;
    const drawn = lines.map(({ label: name, color, dashed = false }) =>
      kind === 'bars'
        ? {
            ...{ label: name, fill: token(color), width: 0, points: { show: false } },
            ...(bars === undefined ? {} : { paths: bars }),
          }
        : {
            ...{ label: name, stroke: token(color), width: 1.5, spanGaps: true, points: { show: starts.length < 2 } },
            ...(dashed ? { dash: [3, 3] } : {}),
          },
    );
    const values = kind === 'bars' ? stacked(lines) : lines.map((line) => [...line.values]);
    const [inOrder, data] = kind === 'bars' ? [drawn.toReversed(), values.toReversed()] : [drawn, values];
    let isOver = false;
    const plot = new uPlot(
      {
        width: holder.clientWidth,
        height,
        legend: { show: false },
        padding: ticks === undefined ? [4, 2, 2, 2] : [8, 16, 0, 0],
        cursor: {
          sync: { key: 'overview', setSeries: false },
          drag: { x: false, y: false },
          points: { show: false },
          y: false,
        },
        scales: {
          // Charts of longer and of shorter steps have one cross-hair: each is drawn over the time itself.
          x: { time: false, range: [first, end] },
          y: { range: (_plot, _low, high) => [0, high > 0 ? high : 1] },
        },
        axes:
          ticks === undefined
            ? [{ show: false }, { show: false }]
            : [
                {
                  ...axis,
                  // Between hours it parts the days; through the middle of a day it would say nothing.
                  ...(step < 86_400 ? {} : { grid: { show: false } }),
                  splits: (one) => named(one).map(({ at }) => at),
                  values: (one) => named(one).map(({ text }) => text),
                  size: 28,
                },
                {
                  ...axis,
                  incrs: increments,
                  size: (_plot, texts) => 16 + digitWidth * Math.max(0, ...(texts ?? []).map(({ length }) => length)),
                  values: (_plot, splits) => splits.map(format),
                },
              ],
        series: [{}, ...inOrder],
        hooks: {
          setCursor: [
            (one) => {
              // The others move with this one, and say nothing of it.
              if (isOver && one.cursor.left !== undefined && one.cursor.left >= 0)
                latest.current.onHover(one.posToVal(one.cursor.left, 'x'));
            },
          ],
        },
      },
      [starts.map((start) => start + step / 2), ...data] as uPlot.AlignedData,
      holder,
    );
    plot.over.addEventListener('mouseenter', () => {
      isOver = true;
    });
    plot.over.addEventListener('mouseleave', () => {
      isOver = false;
      latest.current.onHover(null);
    });
    const pick = () => {
      const { idx, top } = plot.cursor;
      if (idx === undefined || idx === null) return;
      const at = kind === 'bars' && top !== undefined ? barAt(lines, idx, plot.posToVal(top, 'y')) : null;
      latest.current.onPick(idx, at);
    };
    plot.over.style.cursor = 'pointer';
    plot.over.addEventListener('click', pick);
    const watcher = new ResizeObserver(() => plot.setSize({ width: holder.clientWidth, height }));
    watcher.observe(holder);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [starts, step, lines, kind, height, dark, format, ticks]);
  return <div ref={place} role="img" aria-label={label} style={{ height }} />;
}
