/** Stacked bars; the table beside them says the same in words. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useDark } from '../../lib/theme.ts';
import { startOf, wholeBars } from './edges.ts';
import type { Chart } from './series.ts';

export interface StackedBarsProps {
  readonly chart: Chart;
  readonly label: string;
  readonly nameOf: (name: string) => string;
  readonly format: (value: number) => string;
  readonly formatTime: (start: number) => string;
}

const height = 240;
const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** uPlot draws lines over each other: each series carries the sum of itself and all below, the tallest is drawn first. */
function stacked(chart: Chart): number[][] {
  const sums = new Array<number>(chart.starts.length).fill(0);
  return chart.series
    .map(({ values }) =>
      values.map((value, index) => {
        sums[index] = (sums[index] ?? 0) + value;
        return sums[index] ?? 0;
      }),
    )
    .reverse();
}

export function StackedBars({ chart, label, nameOf, format, formatTime }: StackedBarsProps) {
  const place = useRef<HTMLDivElement>(null);
  const dark = useDark();
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
    const bars = uPlot.paths.bars?.({ size: [0.7, 48], radius: 0 });
    const plot = new uPlot(
      {
        width: holder.clientWidth,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: { time: false, distr: 2, range: (_plot, low, high) => wholeBars(low, high) },
          y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            values: (_plot, splits) => splits.map((index) => startOf(chart.starts, index, formatTime)),
            space: 90,
          },
          { ...axis, size: 64, values: (_plot, splits) => splits.map(format) },
        ],
        series: [
          {},
          ...chart.series
            .map(({ name }, index) => ({
              label: nameOf(name),
              fill: token(`--data-${index + 1}`),
              width: 0,
              ...(bars === undefined ? {} : { paths: bars }),
              points: { show: false },
            }))
            .reverse(),
        ],
      },
      [chart.starts.map((_start, index) => index), ...stacked(chart)],
      holder,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: holder.clientWidth, height }));
    watcher.observe(holder);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [chart, dark, nameOf, format, formatTime]);
  return <div ref={place} role="img" aria-label={label} style={{ height }} />;
}
