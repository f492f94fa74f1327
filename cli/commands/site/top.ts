/** How channels and models are doing now: live on a terminal, once on a pipe. */
import type { CommandRun } from '../../command.ts';
import { moneyOf } from '../../parts/money.ts';
import { topLines, topOf } from '../../parts/top.ts';

export const top: CommandRun = async (context, flags) => {
  const { output } = context;
  const money = await moneyOf(context);
  if (context.screens && flags.once !== true && output.format === 'table') {
    const { watchTop } = await import('../../screens/top.tsx');
    return watchTop(context, money);
  }
  const value = await topOf(context);
  const room = output.isTty ? output.look.room : Number.POSITIVE_INFINITY;
  const failing = value.channels.filter(({ state }) => state === 'failing');
  output.object(value, topLines(value, context, money, room), failing.map(({ name }) => name).join('\n'));
};
