/** Lines that are renewed until q or Esc. A server that restarts is waited for; one that never was there is not. */
import { Box, Text, useInput, useWindowSize } from 'ink';
import { useEffect, useRef, useState } from 'react';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import { stage } from './stage.tsx';

/** Of the line that says how to leave, and the one before it. */
const footer = 2;

export interface LiveLines<State> {
  readonly load: () => Promise<State>;
  /** @param columns of the terminal. */
  readonly lines: (state: State, columns: number) => readonly string[];
  readonly everyMs: number;
}

interface LiveProps<State> extends LiveLines<State> {
  readonly context: Context;
  readonly onEnd: (failure?: unknown) => void;
}

function Live<State>({ context, load, lines, everyMs, onEnd }: LiveProps<State>) {
  const { columns, rows } = useWindowSize();
  const [state, setState] = useState<{ readonly last: State } | null>(null);
  const [message, setMessage] = useState('');
  const seen = useRef(false);
  useEffect(() => {
    const look = () =>
      load().then(
        (last) => {
          seen.current = true;
          setMessage('');
          setState({ last });
        },
        (error: unknown) => {
          if (!seen.current || !(error instanceof AppError)) return onEnd(error);
          setMessage(formatError(error.code, error.params, context.language));
        },
      );
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [context, load, everyMs, onEnd]);
  useInput((input) => {
    if (input === 'q') onEnd();
  });
  const visible = state === null ? [] : lines(state.last, columns).slice(0, Math.max(1, rows - footer));
  return (
    <Box flexDirection="column">
      {/* Two lines may be the same, and none moves. */}
      <Text wrap="truncate">{visible.join('\n')}</Text>
      {message === '' ? null : (
        <Text color="yellow" wrap="truncate">
          {safeLine(`${context.say('正在重试', 'trying again')} · ${message}`)}
        </Text>
      )}
      <Text dimColor>{context.say('q 退出', 'q quits')}</Text>
    </Box>
  );
}

/** The last state stays in the scrollback. */
export async function watchLines<State>(context: Context, live: LiveLines<State>): Promise<void> {
  const failure = await stage<unknown>((finish) => <Live context={context} {...live} onEnd={finish} />, {
    whole: true,
    escapeEnds: true,
  });
  if (failure !== undefined) throw failure;
  for (const line of live.lines(await live.load(), context.output.layout.maxWidth)) context.output.line(line);
}
