/**
 * Lines or stacked bars over time; every chart of the page shares one cross-hair, and a click goes where the mark leads.
 * Bars say at the pointer what they stand for, and the one of the step under way is hatched: it still grows.
 */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useDark } from '../lib/theme.ts';
import { barAt, stacked, type Tick } from '../lib/traffic.ts';

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
  /** What a step is called at the pointer; without it nothing stands there. */
  readonly formatTime?: (start: number) => string;
  /** The time under the pointer, in epoch seconds; null = the pointer is elsewhere. */
  readonly onHover: (at: number | null) => void;
  /** @param line of stacked bars; null = none of them. */
  readonly onPick: (index: number, line: number | null) => void;
}

const tickWidth = 46;
const maxTicks = 10;
const digitWidth = 6.5;
const axisHeight = 28;
const topPadding = 8;
/** Pixels between two marks of the upright axis, at least. */
const minSplit = 30;
/** Values are whole numbers, and so is what lies between two lines. */
const increments = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat();

/** The least mark of the axis that nothing is above: the tallest bar ends below a line that says how much that is. */
function topOf(high: number, height: number): number {
  const step = increments.find((one) => Math.ceil(high / one) * minSplit <= height) ?? high;
  return Math.ceil(high / step) * step;
}

/** Pixels between the pointer and what it says, and between two strokes of a bar under way. */
const tipGap = 12;
const hatchGap = 4;

/** Strokes in the colour of the page over the bar of the step under way. */
function hatch(plot: uPlot, start: number, step: number): void {
  const { ctx, bbox } = plot;
  const [left, right] = [plot.valToPos(start, 'x', true), plot.valToPos(start + step, 'x', true)];
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.beginPath();
  const gap = hatchGap * devicePixelRatio;
  for (let at = left - bbox.height; at < right; at += gap) {
    ctx.moveTo(at, bbox.top + bbox.height);
    ctx.lineTo(at + bbox.height, bbox.top);
  }
  ctx.strokeStyle = token('--bg-surface');
  ctx.lineWidth = 1.25 * devicePixelRatio;
  ctx.stroke();
  ctx.restore();
}

/** Beside the pointer, on the side that has room: the step and its values, the largest first. */
function showTip(tip: HTMLElement, plot: uPlot, props: ChartProps): void {
  const { idx, left = -1, top = 0 } = plot.cursor;
  const { lines, starts, formatTime, format = String } = props;
  const start = starts[idx ?? -1];
  tip.hidden = left < 0 || start === undefined || formatTime === undefined;
  if (tip.hidden || start === undefined || formatTime === undefined) return;
  const rows = lines
    .map(({ label, values, color }) => ({ label, value: values[idx ?? -1] ?? 0, color }))
    .filter(({ value }) => value > 0)
    .toSorted((one, other) => other.value - one.value);
  const line = (...parts: readonly HTMLElement[]): HTMLElement => {
    const row = document.createElement('div');
    row.className = 'flex items-center gap-1.5';
    row.append(...parts);
    return row;
  };
  const part = (className: string, text = ''): HTMLElement =>
    Object.assign(document.createElement('span'), { className, textContent: text });
  tip.replaceChildren(
    line(part('text-ink-3', formatTime(start))),
    ...rows.map(({ label, value, color }) => {
      const mark = part('size-2 flex-none rounded-1');
      mark.style.background = `var(${color})`;
      return line(mark, part('flex-1 truncate text-ink-2', label), part('pl-3', format(value)));
    }),
  );
  const isRight = left > plot.over.clientWidth / 2;
  tip.style.left = isRight ? '' : `${plot.over.offsetLeft + left + tipGap}px`;
  tip.style.right = isRight ? `${plot.over.clientWidth - left + tipGap + 16}px` : '';
  tip.style.top = `${Math.max(0, Math.min(top, plot.over.clientHeight - tip.offsetHeight))}px`;
}

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
    const tip = document.createElement('div');
    tip.hidden = true;
    tip.ariaHidden = 'true';
    tip.className =
      'pointer-events-none absolute z-10 grid max-w-72 min-w-36 gap-0.5 rounded-2 border border-line-strong bg-raised px-2.5 py-1.5 text-[12px] shadow-pop [&[hidden]]:hidden';
    const plot = new uPlot(
      {
        width: holder.clientWidth,
        height,
        legend: { show: false },
        padding: ticks === undefined ? [4, 2, 2, 2] : [topPadding, 16, 0, 0],
        cursor: {
          sync: { key: 'overview', setSeries: false },
          drag: { x: false, y: false },
          points: { show: false },
          y: false,
        },
        scales: {
          // Charts of longer and of shorter steps have one cross-hair: each is drawn over the time itself.
          x: { time: false, range: [first, end] },
          y: {
            range: (_plot, _low, high) => [
              0,
              high <= 0 ? 1 : ticks === undefined ? high : topOf(high, height - axisHeight - topPadding),
            ],
          },
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
                  size: axisHeight,
                },
                {
                  ...axis,
                  incrs: increments,
                  space: minSplit,
                  size: (_plot, texts) => 16 + digitWidth * Math.max(0, ...(texts ?? []).map(({ length }) => length)),
                  values: (_plot, splits) => splits.map(format),
                },
              ],
        series: [{}, ...inOrder],
        hooks: {
          setCursor: [
            (one) => {
              // The others move with this one, and say nothing of it.
              if (!isOver || one.cursor.left === undefined || one.cursor.left < 0) return;
              latest.current.onHover(one.posToVal(one.cursor.left, 'x'));
              showTip(tip, one, latest.current);
            },
          ],
          draw: [
            (one) => {
              const under = starts.findLast((start) => start <= Date.now() / 1000);
              if (kind === 'bars' && under !== undefined && Date.now() / 1000 < under + step) hatch(one, under, step);
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
      tip.hidden = true;
      latest.current.onHover(null);
    });
    const pick = () => {
      const { idx, top } = plot.cursor;
      if (idx === undefined || idx === null) return;
      const at = kind === 'bars' && top !== undefined ? barAt(lines, idx, plot.posToVal(top, 'y')) : null;
      latest.current.onPick(idx, at);
    };
    holder.append(tip);
    plot.over.style.cursor = 'pointer';
    plot.over.addEventListener('click', pick);
    const watcher = new ResizeObserver(() => plot.setSize({ width: holder.clientWidth, height }));
    watcher.observe(holder);
    return () => {
      watcher.disconnect();
      plot.destroy();
      tip.remove();
    };
  }, [starts, step, lines, kind, height, dark, format, ticks]);
  return <div ref={place} role="img" aria-label={label} className="relative" style={{ height }} />;
}
