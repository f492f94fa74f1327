/** How channels and models are doing now: live on a terminal, once on a pipe. */
import type { CommandRun } from '../../command.ts';
import { addressOf } from '../../parts/access.ts';
import { moneyOf } from '../../parts/money.ts';
import { drawsUnicode, markOf } from '../../parts/state-marks.ts';
import { topHead, topLines, topNow } from '../../parts/top.ts';

const watchMs = 2000;

export const top: CommandRun = async (context, flags) => {
  const { output } = context;
  const money = await moneyOf(context);
  // Programs read the tables alone, which do not name the site.
  const site = output.isTty ? String((await (await context.client()).call('status.get')).system_name ?? '') : '';
  const load = async () => ({ ...(await topNow(context)), site, place: addressOf(context), at: Date.now() });
  const unicode = drawsUnicode(context.env);
  const lines = (shown: Awaited<ReturnType<typeof load>>, columns: number): string[] => [
    ...topHead(shown, context, money),
    ...topLines(shown.top, context, money, columns, (state) => markOf(state, unicode)),
  ];
  if (context.screens && flags.once !== true && output.format === 'table') {
    const { watchLines } = await import('../../screens/live-lines.tsx');
    return watchLines(context, { load, lines, everyMs: watchMs });
  }
  const found = await load();
  const failing = found.top.channels.filter(({ state }) => state === 'failing');
  const shown = output.isTty
    ? lines(found, output.layout.maxWidth)
    : topLines(found.top, context, money, Number.POSITIVE_INFINITY);
  output.object(found.top, shown, failing.map(({ name }) => name).join('\n'));
};
