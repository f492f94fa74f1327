/** Lines or stacked bars over time; every chart of the page shares one cross-hair, and a click goes where the mark leads. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useDark } from '../../lib/theme.ts';
import { barAt, stacked } from './overview.ts';

export interface ChartLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A custom property of the theme. */
  readonly color: string;
  readonly dashed?: boolean;
}

export interface ChartProps {
  readonly starts: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly kind: 'line' | 'bars';
  readonly height: number;
  /** Without axes. */
  readonly bare?: boolean;
  readonly label: string;
  readonly format?: (value: number) => string;
  readonly formatTime?: (start: number) => string;
  /** The step under the pointer; null = none. */
  readonly onHover: (index: number | null) => void;
  /** @param line of stacked bars; null = none of them. */
  readonly onPick: (index: number, line: number | null) => void;
}

const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart(props: ChartProps) {
  const { starts, lines, kind, height, bare = false, label, format = String, formatTime = String } = props;
  const place = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const latest = useRef(props);
  latest.current = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that are read
  useEffect(() => {
    const holder = place.current;
    if (holder === null) return;
    const font = `11px ${token('--font-sans')}`;
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
    const plot = new uPlot(
      {
        width: holder.clientWidth,
        height,
        legend: { show: false },
        ...(bare ? { padding: [4, 2, 2, 2] as [number, number, number, number] } : {}),
        cursor: {
          sync: { key: 'overview', setSeries: false },
          drag: { x: false, y: false },
          points: { show: false },
          y: false,
        },
        scales: {
          x: { time: false, distr: 2, range: (_plot, low, high) => [low - 0.5, high + 0.5] },
          y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
        },
        axes: bare
          ? [{ show: false }, { show: false }]
          : [
              {
                ...axis,
                grid: { show: false },
                values: (_plot, splits) => splits.map((at) => (starts[at] === undefined ? '' : formatTime(starts[at]))),
                space: 90,
                size: 28,
              },
              { ...axis, size: 64, values: (_plot, splits) => splits.map(format) },
            ],
        series: [{}, ...inOrder],
        hooks: { setCursor: [(one) => latest.current.onHover(one.cursor.idx ?? null)] },
      },
      [starts.map((_start, at) => at), ...data] as uPlot.AlignedData,
      holder,
    );
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
  }, [starts, lines, kind, height, bare, dark, format, formatTime]);
  return <div ref={place} role="img" aria-label={label} style={{ height }} />;
}
