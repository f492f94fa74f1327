/** New log rows as they come: space pauses, / filters, q or Esc ends. What was seen stays in the scrollback. */
import { Box, Static, Text, useInput, useWindowSize } from 'ink';
import { useEffect, useReducer } from 'react';
import type { Log } from '../../server/contract/entities.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { tailHeading, tailLine } from '../commands/logs/tail-line.ts';
import type { Context } from '../context.ts';
import type { Money } from '../parts/money.ts';
import { stage } from './stage.tsx';

/** What a filter looks at: everything the row says. */
const wordsOf = (row: Log): string => safeLine(Object.values(row).join(' '));

interface TailState {
  readonly visible: readonly Log[];
  /** Came while paused. */
  readonly waiting: readonly Log[];
  readonly paused: boolean;
  readonly filter: string;
  readonly typing: boolean;
}

const begin: TailState = { visible: [], waiting: [], paused: false, filter: '', typing: false };
const backspaces = ['\u007f', '\b'];

/** One typed character; several may come at once when they are pasted. */
function press(state: TailState, character: string): TailState {
  const { typing, filter, paused, visible, waiting } = state;
  if (typing) {
    if (character === '\r' || character === '\n') return { ...state, typing: false };
    return { ...state, filter: backspaces.includes(character) ? filter.slice(0, -1) : filter + character };
  }
  if (character === '/') return { ...state, typing: true, filter: '' };
  if (character === ' ') return { ...state, paused: !paused, visible: [...visible, ...waiting], waiting: [] };
  return state;
}

function arrive(state: TailState, rows: readonly Log[]): TailState {
  const matching = rows.filter((row) => wordsOf(row).includes(state.filter));
  return state.paused
    ? { ...state, waiting: [...state.waiting, ...matching] }
    : { ...state, visible: [...state.visible, ...matching] };
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
  const [{ visible, waiting, paused, filter, typing }, dispatch] = useReducer(reduce, begin);
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
    else if (input === 'q' && !typing) onEnd();
    else dispatch(input);
  });
  const { say } = context;
  // Rows that come after a resize have the new width; those in the scrollback are the terminal's to wrap.
  const layout = { ...context.output.layout, maxWidth: columns };
  return (
    <Box flexDirection="column">
      <Static items={[null, ...visible]}>
        {(row) => (
          <Text key={row?.id ?? 0} wrap="truncate">
            {row === null ? tailHeading(layout) : tailLine(row, money, { ...layout, language: context.language })}
          </Text>
        )}
      </Static>
      <Text dimColor wrap="truncate">
        {typing
          ? `/${filter}`
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
