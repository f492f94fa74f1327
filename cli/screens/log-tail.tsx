/** New log rows as they come: space pauses, / filters, q or Esc ends. What was seen stays in the scrollback. */
import { Box, Static, Text, useInput, useWindowSize } from 'ink';
import { useEffect, useReducer, useState } from 'react';
import type { Log } from '../../server/contract/entities.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { tailHeading, tailLine } from '../commands/logs/tail-line.ts';
import type { Context } from '../context.ts';
import { dayOf } from '../parts/log-row.ts';
import type { Money } from '../parts/money.ts';
import { stage } from './stage.tsx';

/** What a filter looks at: everything the row says. */
const wordsOf = (row: Log): string => safeLine(Object.values(row).join(' '));

/** Rows that a new filter looks at, and those of them that it shows again. */
const maxSeen = 500;
const maxAgain = 50;

/** What stands in the scrollback: a row, or from where on another filter holds. */
type Item = { readonly row: Log } | { readonly filter: string; readonly found: number };

/** Rows tell the time of the day: where the day changes it stands between them, and above them where it is not today. */
function withDays(items: readonly Item[], now: number): readonly (Item | { readonly day: string })[] {
  let known = dayOf(now);
  return items.flatMap((item): readonly (Item | { readonly day: string })[] => {
    if (!('row' in item)) return [item];
    const day = dayOf(item.row.created_at * 1000);
    if (day === known) return [item];
    known = day;
    return [{ day }, item];
  });
}

interface TailState {
  readonly items: readonly Item[];
  /** All that came, whatever the filter was. */
  readonly seen: readonly Log[];
  /** Matched while paused. */
  readonly waiting: readonly Log[];
  readonly paused: boolean;
  readonly filter: string;
  /** The filter that is being typed; null = none is. */
  readonly typed: string | null;
}

const begin: TailState = { items: [], seen: [], waiting: [], paused: false, filter: '', typed: null };
const backspaces = ['\u007f', '\b'];
const matches = (row: Log, filter: string): boolean => wordsOf(row).toLowerCase().includes(filter.toLowerCase());

/** What was printed stays; what matches the new filter stands below it, under a line that says so. */
function applied(state: TailState, filter: string): TailState {
  if (filter === state.filter) return { ...state, typed: null };
  const found = state.seen.filter((row) => matches(row, filter));
  const again = found.slice(-maxAgain).map((row) => ({ row }));
  const items = [...state.items, { filter, found: found.length }, ...again];
  return { ...state, items, filter, typed: null, waiting: [] };
}

/** One typed character; several may come at once when they are pasted. */
function press(state: TailState, character: string): TailState {
  const { typed, paused, items, waiting } = state;
  if (typed !== null) {
    if (character === '\r' || character === '\n') return applied(state, typed);
    return { ...state, typed: backspaces.includes(character) ? typed.slice(0, -1) : typed + character };
  }
  if (character === '/') return { ...state, typed: '' };
  if (character === ' ')
    return { ...state, paused: !paused, items: [...items, ...waiting.map((row) => ({ row }))], waiting: [] };
  return state;
}

function arrive(state: TailState, rows: readonly Log[]): TailState {
  const seen = [...state.seen, ...rows].slice(-maxSeen);
  const matching = rows.filter((row) => matches(row, state.filter));
  return state.paused
    ? { ...state, seen, waiting: [...state.waiting, ...matching] }
    : { ...state, seen, items: [...state.items, ...matching.map((row) => ({ row }))] };
}

const reduce = (state: TailState, news: string | readonly Log[]): TailState =>
  typeof news === 'string' ? [...news].reduce(press, state) : arrive(state, news);

interface TailProps {
  readonly context: Context;
  readonly money: Money;
  /** A server runs: without one nothing will come. */
  readonly served: boolean;
  readonly source: AsyncIterable<readonly Log[]>;
  /** @param failure why there will be no more rows. */
  readonly onEnd: (failure?: unknown) => void;
}

function Tail({ context, money, served, source, onEnd }: TailProps) {
  const [begun] = useState(() => Date.now());
  const [{ items, waiting, paused, filter, typed }, dispatch] = useReducer(reduce, begin);
  const { columns } = useWindowSize();
  useEffect(() => {
    const read = async () => {
      for await (const rows of source) dispatch(rows);
    };
    read().then(() => onEnd(), onEnd);
  }, [source, onEnd]);
  useInput((input, key) => {
    if (key.ctrl || key.escape) return;
    if (key.return) dispatch('\r');
    else if (key.backspace || key.delete) dispatch('\b');
    else if (input === 'q' && typed === null) onEnd();
    else dispatch(input);
  });
  const { say } = context;
  // Rows that come after a resize have the new width; those in the scrollback are the terminal's to wrap.
  const layout = { ...context.output.layout, maxWidth: columns, language: context.language };
  const textOf = (item: Item | { readonly day: string }): string => {
    if ('day' in item) return `── ${item.day} ──`;
    if ('row' in item) return tailLine(item.row, money, layout);
    const name = item.filter === '' ? say('全部', 'all') : `/${safeLine(item.filter)}`;
    return `── ${name}: ${say(`已有 ${item.found} 行`, `${item.found} so far`)} ──`;
  };
  return (
    <Box flexDirection="column">
      <Static items={[null, ...withDays(items, begun)]}>
        {(item, at) => (
          // A row may stand there twice: under another filter it is shown again.
          <Text key={at} wrap="truncate">
            {item === null ? tailHeading(layout) : textOf(item)}
          </Text>
        )}
      </Static>
      <Text dimColor wrap="truncate">
        {typed !== null
          ? `/${typed}`
          : `${paused ? say(`已暂停，${waiting.length} 条新日志`, `paused, ${waiting.length} new`) : served ? say('跟随中', 'following') : say('跟随中（服务未运行）', 'following (no server is running)')}${filter === '' ? '' : `  /${filter}`}  ${paused ? say('空格 继续', 'space resume') : say('空格 暂停', 'space pause')}  ${say('/ 过滤  q 退出', '/ filter  q quit')}`}
      </Text>
    </Box>
  );
}

/** @throws what ended it, AppError server_unreachable among them. */
export async function tailScreen(
  context: Context,
  source: AsyncIterable<readonly Log[]>,
  { money, served }: { readonly money: Money; readonly served: boolean },
): Promise<void> {
  const failure = await stage<unknown>(
    (finish) => <Tail context={context} money={money} served={served} source={source} onEnd={finish} />,
    { escapeEnds: true },
  );
  if (failure !== undefined) throw failure;
}
