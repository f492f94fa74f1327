/** What would change, a screenful at a time, and the question whether it shall. */
import { Box, Text, useInput, useWindowSize } from 'ink';
import { useState } from 'react';
import { AppError } from '../../server/contract/errors.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import { stage } from './stage.tsx';

function Changes({
  lines,
  question,
  hint,
  endHint,
  onAnswer,
}: {
  lines: readonly string[];
  question: string;
  /** How to see what does not fit. */
  hint: string;
  /** After the last of it. */
  endHint: string;
  onAnswer: (yes: boolean) => void;
}) {
  const [top, setTop] = useState(0);
  const { rows } = useWindowSize();
  const room = Math.max(3, rows - 4);
  useInput((input, key) => {
    const step = key.pageDown || input === ' ' ? room : key.pageUp ? -room : key.downArrow ? 1 : key.upArrow ? -1 : 0;
    if (step !== 0) setTop((now) => Math.max(0, Math.min(lines.length - room, now + step)));
    else if (/^[yY是]$/.test(input)) onAnswer(true);
    else if (key.return || /^[nN否]$/.test(input)) onAnswer(false);
  });
  return (
    <Box flexDirection="column">
      {lines.slice(top, top + room).map((line) => (
        <Text key={line} wrap="truncate">
          {safeLine(line)}
        </Text>
      ))}
      <Text dimColor>
        {Math.min(lines.length, top + room)}/{lines.length}
        {lines.length <= room ? '' : `  ${top + room < lines.length ? hint : endHint}`}
      </Text>
      <Text>{safeLine(question)} [y/N]</Text>
    </Box>
  );
}

/** @throws AppError cancelled */
export async function confirmChanges({ say }: Context, lines: readonly string[], question: string): Promise<void> {
  const hint = say('↑ ↓ 或空格查看其余', '↑ ↓ or Space for the rest');
  const endHint = say('↑ 返回', '↑ goes back');
  const yes = await stage<boolean>((onAnswer) => <Changes {...{ lines, question, hint, endHint, onAnswer }} />);
  if (yes !== true) throw new AppError('cancelled');
}
