/** Channels and models, renewed every two seconds until q or Esc. */
import { Box, Text, useInput, useWindowSize } from 'ink';
import { useEffect, useRef, useState } from 'react';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import type { Money } from '../parts/money.ts';
import { type Top, topLines, topOf } from '../parts/top.ts';
import { stage } from './stage.tsx';

const everyMs = 2000;
/** Of the line that says how to leave, and the one before it. */
const footer = 2;

interface LiveProps {
  readonly context: Context;
  readonly money: Money;
  readonly onEnd: (failure?: unknown) => void;
}

function Live({ context, money, onEnd }: LiveProps) {
  const { columns, rows } = useWindowSize();
  const [top, setTop] = useState<Top | null>(null);
  const [trouble, setTrouble] = useState('');
  const seen = useRef(false);
  useEffect(() => {
    // A server that restarts is waited for; one that never was there is not.
    const look = () =>
      topOf(context).then(
        (now) => {
          seen.current = true;
          setTrouble('');
          setTop(now);
        },
        (error: unknown) => {
          if (!seen.current || !(error instanceof AppError)) return onEnd(error);
          setTrouble(formatError(error.code, error.params, context.language));
        },
      );
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [context, onEnd]);
  useInput((input) => {
    if (input === 'q') onEnd();
  });
  const lines = top === null ? [] : topLines(top, context, money, columns).slice(0, Math.max(1, rows - footer));
  return (
    <Box flexDirection="column">
      {/* Two lines may be the same, and none moves. */}
      <Text wrap="truncate">{lines.join('\n')}</Text>
      {trouble === '' ? null : (
        <Text color="yellow" wrap="truncate">
          {safeLine(`${context.say('正在重试', 'trying again')} · ${trouble}`)}
        </Text>
      )}
      <Text dimColor>{context.say('q 退出', 'q quits')}</Text>
    </Box>
  );
}

/** The last state stays in the scrollback. */
export async function watchTop(context: Context, money: Money): Promise<void> {
  const failure = await stage<unknown>((finish) => <Live context={context} money={money} onEnd={finish} />, {
    whole: true,
    escapeEnds: true,
  });
  if (failure !== undefined) throw failure;
  for (const line of topLines(await topOf(context), context, money, context.output.look.room))
    context.output.line(line);
}
