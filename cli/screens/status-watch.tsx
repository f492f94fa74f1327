/** The overview, renewed every second until q or Esc. */
import { Box, Text, useInput } from 'ink';
import { useEffect, useRef, useState } from 'react';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import { readable } from '../parts/details.ts';
import { overview } from '../parts/overview.ts';
import { stage } from './stage.tsx';

const everyMs = 1000;

const linesOf = async (context: Context): Promise<readonly string[]> =>
  readable(await overview(context), { language: context.language, money: null });

function Watch({ context, onEnd }: { context: Context; onEnd: (failure?: unknown) => void }) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [trouble, setTrouble] = useState('');
  const seen = useRef(false);
  useEffect(() => {
    // A server that restarts is waited for; one that never was there is not.
    const look = () =>
      linesOf(context).then(
        (now) => {
          seen.current = true;
          setTrouble('');
          setLines(now);
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
  return (
    <Box flexDirection="column">
      {lines.map((line) => (
        <Text key={line.slice(0, 22)} wrap="truncate">
          {line}
        </Text>
      ))}
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
export async function watchStatus(context: Context): Promise<void> {
  const failure = await stage<unknown>((finish) => <Watch context={context} onEnd={finish} />, {
    whole: true,
    escapeEnds: true,
  });
  if (failure !== undefined) throw failure;
  for (const line of await linesOf(context)) context.output.line(line);
}
