/** The overview, renewed every second until q or Esc. */
import { Box, Text, useInput } from 'ink';
import { useEffect, useState } from 'react';
import type { Context } from '../context.ts';
import { detailLines } from '../output.ts';
import { overview } from '../parts/overview.ts';
import { stage } from './stage.tsx';

const everyMs = 1000;

function Watch({ context, onEnd }: { context: Context; onEnd: (failure?: unknown) => void }) {
  const [lines, setLines] = useState<readonly string[]>([]);
  useEffect(() => {
    const look = () => void overview(context).then((value) => setLines(detailLines(value)), onEnd);
    look();
    const timer = setInterval(look, everyMs);
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
  const value = await overview(context);
  for (const line of detailLines(value)) context.output.line(line);
}
