/** How channels and models are doing now: live on a terminal, once on a pipe. */
import type { CommandRun } from '../../command.ts';
import { moneyOf } from '../../parts/money.ts';
import { topLines, topOf } from '../../parts/top.ts';

const watchMs = 2000;

export const top: CommandRun = async (context, flags) => {
  const { output } = context;
  const money = await moneyOf(context);
  if (context.screens && flags.once !== true && output.format === 'table') {
    const { watchLines } = await import('../../screens/live-lines.tsx');
    return watchLines(context, {
      load: () => topOf(context),
      lines: (value, columns) => topLines(value, context, money, columns),
      everyMs: watchMs,
    });
  }
  const value = await topOf(context);
  const room = output.isTty ? output.layout.maxWidth : Number.POSITIVE_INFINITY;
  const failing = value.channels.filter(({ state }) => state === 'failing');
  output.object(value, topLines(value, context, money, room), failing.map(({ name }) => name).join('\n'));
};
