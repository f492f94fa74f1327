/** The board that `gateway` alone shows on a terminal: what goes on, and what can be done about it. */
import { Box, Text, useInput, useWindowSize } from 'ink';
import { useEffect, useMemo, useReducer, useRef, useState } from 'react';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import { addressOf } from '../parts/access.ts';
import {
  type BoardData,
  type BoardLine,
  type BoardState,
  boardLines,
  boardViews,
  firstState,
  itemsOf,
  type Look,
  placeOf,
} from '../parts/board.ts';
import { changeOf } from '../parts/board-change.ts';
import { BoardSource } from '../parts/board-source.ts';
import { type Money, moneyOf } from '../parts/money.ts';
import { drawsUnicode } from '../parts/state-marks.ts';
import { stage } from './stage.tsx';

const everyMs = 2000;

const colors: Partial<Readonly<Record<Look, { color?: string; bold?: true; dimColor?: true; inverse?: true }>>> = {
  title: { bold: true },
  heading: { bold: true },
  selected: { inverse: true },
  bad: { color: 'red' },
  warn: { color: 'yellow' },
  good: { color: 'green' },
  dim: { dimColor: true },
};

interface Pressed {
  readonly input: string;
  readonly key: Readonly<Record<string, unknown>>;
}

/** Of a row that the reader wants changed; asked for first. */
interface Order {
  readonly words: string;
  readonly run: () => Promise<string>;
}

/** What a key does to what is shown. @param data null = nothing was read yet. @param page rows of a page. */
export function pressed(state: BoardState, { input, key }: Pressed, data: BoardData | null, page: number): BoardState {
  if (state.typing) {
    if (key.return) return { ...state, typing: false };
    if (key.escape) return { ...state, typing: false, filter: '' };
    if (key.backspace || key.delete) return { ...state, filter: state.filter.slice(0, -1) };
    return key.ctrl || key.meta || key.tab ? state : { ...state, filter: state.filter + input };
  }
  if (state.change !== null) {
    if (key.return || key.escape) return { ...state, change: null, message: '' };
    if (key.backspace || key.delete) return { ...state, change: state.change.slice(0, -1), message: '' };
    return key.ctrl || key.meta || key.tab ? state : { ...state, change: state.change + input, message: '' };
  }
  if (key.escape) {
    if (state.help) return { ...state, help: false };
    if (state.opened) return { ...state, opened: false };
    return { ...state, filter: '', message: '' };
  }
  const view = boardViews[Number(input) - 1] ?? (key.tab ? nextView(state, key.shift === true) : undefined);
  if (view !== undefined) return { ...state, view, selected: '', opened: false, help: false, message: '' };
  if (input === '/') return { ...state, typing: true, opened: false, help: false };
  if (input === '?') return { ...state, help: !state.help };
  if (input === ' ') return { ...state, paused: !state.paused };
  if (key.return) return { ...state, opened: !state.help, help: false };
  const steps = stepsOf(input, key, page);
  if (data === null || steps === 0) return state;
  const items = itemsOf(data, state);
  const place = Math.min(items.length - 1, Math.max(0, placeOf(items, state.selected) + steps));
  return { ...state, selected: items[place]?.key ?? '', message: '' };
}

const nextView = ({ view }: BoardState, back: boolean) =>
  boardViews[(boardViews.indexOf(view) + (back ? boardViews.length - 1 : 1)) % boardViews.length];

function stepsOf(input: string, key: Pressed['key'], page: number): number {
  if (key.downArrow || input === 'j') return 1;
  if (key.upArrow || input === 'k') return -1;
  if (key.pageDown) return page;
  if (key.pageUp) return -page;
  if (input === 'G' || key.end) return Number.MAX_SAFE_INTEGER;
  return input === 'g' || key.home ? -Number.MAX_SAFE_INTEGER : 0;
}

interface BoardProps {
  readonly context: Context;
  readonly onEnd: (failure?: unknown) => void;
}

function Board({ context, onEnd }: BoardProps) {
  const { columns, rows } = useWindowSize();
  const { say } = context;
  const source = useMemo(() => new BoardSource(context), [context]);
  const [data, setData] = useState<BoardData | null>(null);
  const [money, setMoney] = useState<Money | null>(null);
  const [state, change] = useReducer((old: BoardState, make: (old: BoardState) => BoardState) => make(old), firstState);
  const [order, setOrder] = useState<Order | null>(null);
  const paused = useRef(false);
  paused.current = state.paused;
  const seen = useRef(false);
  const report = (message: string) => change((old) => ({ ...old, message: safeLine(message) }));
  const wordsOf = (error: unknown): string =>
    error instanceof AppError ? formatError(error.code, error.params, context.language) : String(error);

  // biome-ignore lint/correctness/useExhaustiveDependencies: one clock for as long as the board stands
  useEffect(() => {
    let reading = false;
    let isQuiet = false;
    let ticks = 0;
    const look = async () => {
      ticks++;
      // Where nothing goes on every third look is enough.
      if (reading || paused.current || (isQuiet && ticks % 3 !== 0)) return;
      reading = true;
      try {
        const found = await source.read();
        if (!seen.current) setMoney(await moneyOf(context));
        if (!found.served) await context.close();
        if (seen.current === false || found.served) setData(found);
        seen.current = true;
        isQuiet = found.recent.total.count === 0;
      } catch (error) {
        if (!seen.current || !(error instanceof AppError)) onEnd(error);
        else report(`${say('正在重试', 'trying again')} · ${wordsOf(error)}`);
      } finally {
        reading = false;
      }
    };
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [source]);

  const run = (work: () => Promise<string>) => {
    work()
      .then(async (words) => {
        source.forget();
        setData(await source.read());
        report(words);
      })
      .catch((error: unknown) => report(wordsOf(error)));
  };

  /** What a key asks for beside the picture. @returns whether it was one of these. */
  const act = (input: string): boolean => {
    if (data === null || state.typing || !['t', 'd', 'e', 'o', 'c'].includes(input)) return false;
    const items = itemsOf(data, state);
    const id = Number(items[placeOf(items, state.selected)]?.key ?? 0);
    const { view } = state;
    if (input === 'o') {
      const key = items[placeOf(items, state.selected)]?.key ?? '';
      const paths = {
        ...{
          channels: `/channel/edit/${key}`,
          models: `/pricing/${encodeURIComponent(key)}`,
          keys: `/token?open=${key}`,
        },
        log: `/log?open=${key}`,
      };
      report(`${addressOf(context)}${paths[view]}`);
      return true;
    }
    const name =
      view === 'channels'
        ? data.top.channels.find((one) => one.id === id)?.name
        : view === 'keys'
          ? data.keys.find((one) => one.id === id)?.name
          : undefined;
    if (name === undefined || (input === 't' && view !== 'channels')) return false;
    if (input === 'c') {
      change((old) => ({ ...old, change: '', message: '' }));
      return true;
    }
    if (input === 't') {
      report(say(`正在测试 ${name} …`, `testing ${name} …`));
      run(async () => {
        const { success, message, time } = await (await context.client()).call('channel.test', { id });
        return success
          ? say(`${name}：正常，${time.toFixed(2)} 秒`, `${name}: ok, ${time.toFixed(2)} s`)
          : say(`${name}：失败：${message}`, `${name}: failed: ${message}`);
      });
      return true;
    }
    const status = input === 'd' ? 2 : 1;
    const work = async (): Promise<string> => {
      const client = await context.client();
      if (view === 'channels') await client.call('channel.update', { id, status });
      else await client.call('token.update', { id, status, status_only: true });
      return input === 'd' ? say(`已禁用 ${name}`, `${name} is disabled`) : say(`已启用 ${name}`, `${name} is enabled`);
    };
    if (input === 'e') run(work);
    else {
      const words = say(`禁用 ${name}？y 确认，其他键取消`, `disable ${name}? y yes, any other key no`);
      setOrder({ words, run: work });
      report(words);
    }
    return true;
  };

  /** What was typed for the selected row. @returns false where it makes no sense: it stays there to be corrected. */
  const applyChange = (typed: string): boolean => {
    const { view } = state;
    if (data === null || (view !== 'channels' && view !== 'keys')) return true;
    const items = itemsOf(data, state);
    const id = Number(items[placeOf(items, state.selected)]?.key ?? 0);
    const wanted = changeOf(view, typed, context);
    if ('wrong' in wanted) {
      report(wanted.wrong);
      return false;
    }
    run(async () => {
      const client = await context.client();
      if (view === 'channels') await client.call('channel.update', { id, ...wanted.fields });
      else await client.call('token.update', { id, ...wanted.fields });
      return say(`已修改：${wanted.words}`, `changed: ${wanted.words}`);
    });
    return true;
  };

  useInput((input, key) => {
    if (state.change !== null && key.return && !applyChange(state.change)) return;
    if (order !== null) {
      setOrder(null);
      if (input === 'y') run(order.run);
      else report(say('未作修改', 'nothing was changed'));
      return;
    }
    if (input === 'q' && !state.typing && state.change === null) return onEnd();
    // What is pasted, or typed faster than it is read, comes as one.
    const each = input.length > 1 ? [...input] : [input];
    if (each.length === 1 && state.change === null && act(input)) return;
    const page = Math.max(1, rows - pageMargin);
    change((old) => each.reduce((state, one) => pressed(state, { input: one, key: { ...key } }, data, page), old));
  });

  const room = { columns, rows, unicode: drawsUnicode(context.env) };
  const lines: readonly BoardLine[] =
    data === null || money === null
      ? [
          { text: `gateway  ${context.url || context.dataDir}`, look: 'title' },
          { text: say('正在读取 …', 'reading …'), look: 'dim' },
        ]
      : boardLines({ data, state, room, context, money });
  const colored = context.output.layout.color;
  return (
    <Box flexDirection="column">
      {lines.map(({ text, look }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of a screen stay where they are
        <Text key={at} wrap="truncate" {...(colored ? colors[look] : {})}>
          {text === '' ? ' ' : text}
        </Text>
      ))}
    </Box>
  );
}

/** Lines around a page of the list. */
const pageMargin = 10;

/** @throws what ended it before anything was shown. */
export async function boardScreen(context: Context): Promise<void> {
  const failure = await stage<unknown>((finish) => <Board context={context} onEnd={finish} />, {
    whole: true,
    ownEscape: true,
  });
  if (failure !== undefined) throw failure;
}
