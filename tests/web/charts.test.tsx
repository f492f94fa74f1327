// @vitest-environment happy-dom
/** What the charts draw, and what a pointer over them does, against texts that a person has read. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { ChartLine } from '../../web/components/chart.tsx';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';
import { act, mounted, unmounted } from './mounted.tsx';

const [width, box] = [600, { left: 0, top: 0, right: 600, bottom: 200, width: 600, height: 200, x: 0, y: 0 }];
const drawn: string[] = [];
const round = (value: unknown): string =>
  typeof value === 'number' ? String(Math.round(value * 10) / 10) : String(value);

/** Notes each path as it is laid, and when it is drawn, in which colour. */
class NotedPath {
  readonly steps: string[] = [];
  constructor(other?: NotedPath) {
    if (other !== undefined) this.steps.push(...other.steps);
  }
  note(kind: string, values: readonly unknown[]): void {
    this.steps.push(`${kind}${values.map(round).join(',')}`);
  }
  moveTo(...values: number[]): void {
    this.note('M', values);
  }
  lineTo(...values: number[]): void {
    this.note('L', values);
  }
  arc(...values: number[]): void {
    this.note('A', values);
  }
  rect(...values: number[]): void {
    this.note('R', values);
  }
  closePath(): void {}
  addPath(other: NotedPath): void {
    this.steps.push(...other.steps);
  }
}

const context = (): object => {
  let path = new NotedPath();
  const state: Record<string, unknown> = {};
  const look = (name: string): string => `${name} ${String(state[name])}`;
  const methods: Record<string, (...values: never[]) => unknown> = {
    beginPath: () => {
      path = new NotedPath();
    },
    moveTo: (...values) => path.moveTo(...values),
    lineTo: (...values) => path.lineTo(...values),
    rect: (...values) => path.rect(...values),
    fill: (other?: NotedPath) => void drawn.push(`fill ${look('fillStyle')}: ${(other ?? path).steps.join(' ')}`),
    stroke: (other?: NotedPath) =>
      void drawn.push(
        `stroke ${look('strokeStyle')} ${look('lineWidth')} dash ${String(state.dash ?? '')}: ${(other ?? path).steps.join(' ')}`,
      ),
    setLineDash: (dash: readonly number[]) => {
      state.dash = dash.join(',');
    },
    fillText: (text: string, x: number, y: number) =>
      void drawn.push(`text ${JSON.stringify(text)} at ${round(x)},${round(y)} ${look('font')} ${look('textAlign')}`),
    measureText: (text: string) => ({ width: text.length * 6 }),
    clearRect: () => void drawn.push('clear'),
  };
  return new Proxy(state, {
    get: (_target, name: string) => methods[name] ?? state[name] ?? (() => undefined),
    set: (_target, name: string, value) => {
      state[name] = value;
      return true;
    },
  });
};

const properties = Object.entries({
  '--data-1': 'blue',
  '--data-2': 'green',
  '--data-3': 'plum',
  '--danger-solid': 'red',
  '--text-3': 'grey',
  '--data-grid': 'silver',
  '--font-sans': 'Sans',
});

beforeAll(() => {
  fixTimeZone();
  vi.stubGlobal('Path2D', NotedPath);
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockImplementation((() => context()) as never);
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(width);
  vi.spyOn(HTMLElement.prototype, 'getBoundingClientRect').mockReturnValue({ ...box, toJSON: () => box } as DOMRect);
  for (const [name, value] of properties) document.documentElement.style.setProperty(name, value);
});
afterAll(async () => {
  await unmounted();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  document.documentElement.removeAttribute('style');
});

const hour = 3600;
/** Thursday, 2026-11-26 00:00 in Kolkata. */
const midnight = Date.UTC(2026, 10, 25, 18, 30) / 1000;

/** Moves, presses and lets go of the pointer over the chart. */
async function pointer(kind: string, x: number, y: number): Promise<void> {
  const over = document.querySelector('.u-over');
  await act(async () => {
    const at = { bubbles: true, clientX: x, clientY: y, button: 0 };
    const event = new MouseEvent(kind === 'click' ? kind : `mouse${kind}`, at);
    over?.dispatchEvent(Object.defineProperty(event, 'movementX', { value: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 2));
  });
}
async function pointers(kinds: string, x: number, y: number): Promise<void> {
  for (const kind of kinds.split(' ')) await pointer(kind, x, y);
}
const settled = () => act(async () => void (await new Promise((resolve) => setTimeout(resolve, 5))));

const lines = (count: number, values: readonly (number | null)[]): ChartLine[] =>
  Array.from({ length: count }, (_, at) => ({
    label: `line ${at}`,
    values: values.map((value) => (value === null ? null : value * (at + 1))),
    color: `--data-${at + 1}`,
    ...(at === 1 ? { dashed: true } : {}),
  }));

interface Kind {
  readonly kind: 'line' | 'bars';
  readonly step: number;
  readonly values: readonly (number | null)[];
  readonly named: boolean;
}
const kinds: Readonly<Record<string, Kind>> = {
  'lines without axes': { kind: 'line', step: hour, values: [1, null, 3, 0], named: false },
  'one point': { kind: 'line', step: hour, values: [2], named: false },
  'bars with axes': { kind: 'bars', step: hour, values: [1, 0, 3, 1200], named: true },
  'bars of days': { kind: 'bars', step: 24 * hour, values: [1, null, 3], named: true },
  'nothing at all': { kind: 'bars', step: hour, values: [0, 0], named: true },
};

test('charts are drawn, hovered and picked', async () => {
  const { Chart } = await import('../../web/components/chart.tsx');
  const { ticksOf } = await import('../../web/lib/traffic.ts');
  const told: string[] = [];
  const written: string[] = [];
  const flush = (step: string): void => {
    written.push(`> ${step}`, ...[...drawn.splice(0), ...told.splice(0)].map((line) => `    ${line}`));
  };
  for (const [name, { kind, step, values, named }] of Object.entries(kinds)) {
    const starts = values.map((_, at) => midnight + at * step);
    const period = { from: midnight, to: midnight + values.length * step, step };
    let most = 0;
    await mounted(() => (
      <Chart
        {...{ starts, step, kind, label: name, height: 200 }}
        lines={lines(3, values)}
        {...(named
          ? {
              format: (value: number) => `${value} r`,
              ticks: (room: number) => {
                most = room;
                return ticksOf(period, room);
              },
            }
          : {})}
        onHover={(at) => void told.push(`hovers ${at === null ? at : Math.round(at)}`)}
        onPick={(index, line) => void told.push(`picks ${index} ${line}`)}
      />
    ));
    await settled();
    told.push(`room for ${most}`);
    flush(name);
    await pointer('move', 100, 50);
    flush('moves before it enters');
    await pointer('enter', 100, 50);
    for (const [x, y] of [
      [100, 60],
      [200, 160],
      [310, 120],
      [500, 150],
      [520, 100],
      [520, 20],
    ] as const) {
      await pointers('move down up click', x, y);
      flush(`moves to ${x},${y} and clicks`);
    }
    await pointer('leave', -10, -10);
    flush('leaves');
    written.push(`    cursor ${document.querySelector<HTMLElement>('.u-over')?.style.cursor}`);
  }
  expectGolden('tests/web/outlines/charts/lines.txt', written);
});

test('bars say at the pointer which step they are of and what is in it, the largest first, and nothing once it left', async () => {
  const { Chart } = await import('../../web/components/chart.tsx');
  const starts = [0, 1, 2].map((at) => midnight + at * hour);
  const chart = (more: object) =>
    mounted(() => (
      <Chart
        {...{ starts, step: hour, kind: 'bars' as const, label: 'traffic', height: 200, lines: lines(3, [4, 0, 2]) }}
        format={(value) => `${value} r`}
        {...more}
        onHover={() => undefined}
        onPick={() => undefined}
      />
    ));
  const tip = () => document.querySelector<HTMLElement>('.pointer-events-none');
  await chart({ formatTime: (start: number) => `step ${(start - midnight) / hour}` });
  await settled();
  expect(tip()?.hidden).toBe(true);
  await pointer('enter', 100, 60);
  await pointer('move', 100, 60);
  expect([tip()?.hidden, [...(tip()?.children ?? [])].map((row) => row.textContent)]).toEqual([
    false,
    ['step 0', 'line 212 r', 'line 18 r', 'line 04 r'],
  ]);
  // A step of which nothing is known has its name alone.
  await pointer('move', 300, 60);
  expect(tip()?.textContent).toBe('step 1');
  await pointer('leave', -10, -10);
  expect(tip()?.hidden).toBe(true);
  await chart({});
  await settled();
  await pointers('enter move', 100, 60);
  expect(tip()?.hidden).toBe(true);
  drawn.splice(0);
});

test('the bar of the step under way is hatched, and no other one', async () => {
  const { Chart } = await import('../../web/components/chart.tsx');
  const hatched = async (kind: 'line' | 'bars', first: number): Promise<number> => {
    const starts = [0, 1, 2].map((at) => first + at * hour);
    drawn.splice(0);
    await mounted(() => (
      <Chart
        {...{ starts, step: hour, kind, label: 'traffic', height: 200, lines: lines(1, [4, 1, 2]) }}
        onHover={() => undefined}
        onPick={() => undefined}
      />
    ));
    await settled();
    return drawn.splice(0).filter((one) => one.startsWith('stroke strokeStyle white')).length;
  };
  const thisHour = Math.floor(Date.now() / 1000 / hour) * hour;
  document.documentElement.style.setProperty('--bg-surface', 'white');
  expect(await hatched('bars', thisHour - 2 * hour)).toBeGreaterThan(0);
  expect(await hatched('bars', thisHour - 5 * hour)).toBe(0);
  expect(await hatched('line', thisHour - 2 * hour)).toBe(0);
});

test('the histogram says what a bar stands for, and a range is taken out of it', async () => {
  const { Histogram } = await import('../../web/features/logs/histogram.tsx');
  const written: string[] = [];
  const told: string[] = [];
  const flush = (step: string): void => {
    const text = (document.body.textContent ?? '').replace(/\s+/g, ' ');
    written.push(`> ${step}`, ...[...drawn.splice(0), ...told.splice(0), text].map((line) => `    ${line}`));
  };
  for (const step of [hour, 24 * hour]) {
    const buckets = [
      [9, 0],
      [5, 1],
      [0, 0],
      [2000, 3],
      [0, 4],
    ].map(([ok = 0, errors = 0], at) => ({ at: midnight + at * step, ok, errors }));
    const counts = { from: midnight, to: midnight + 5 * step, step, total: 2022, errors: 8, buckets, facets: [] };
    await mounted(() => (
      <Histogram counts={counts as never} onRange={(from, to) => void told.push(`takes ${from} ${to}`)} />
    ));
    await settled();
    flush(`steps of ${step}`);
    await pointer('enter', 10, 10);
    for (const x of [10, 130, 590]) {
      await pointer('move', x, 10);
      flush(`moves to ${x}`);
    }
    for (const [from, to] of [
      [130, 400],
      [400, 401],
      [0, 599],
    ] as const) {
      await pointers('move down', from, 10);
      await pointers('move up', to, 10);
      flush(`drags from ${from} to ${to}`);
    }
    await pointer('leave', -10, -10);
    flush('leaves');
  }
  expectGolden('tests/web/outlines/charts/histogram.txt', written);
});
