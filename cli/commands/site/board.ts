/** `gateway` alone on a terminal: the board of a site, or the way to one. */
import { existsSync } from 'node:fs';
import { dataDirFiles } from '../../../server/app/data-dir.ts';
import type { CommandRun } from '../../command.ts';

export const board: CommandRun = async (context, flags, argument, all) => {
  const { say, output } = context;
  const isHere = context.url === '' && !context.env.DATABASE_URL;
  if (isHere && !existsSync(dataDirFiles(context.dataDir).database)) {
    output.note(say(`${context.dataDir} 中还没有站点。`, `There is no site in ${context.dataDir} yet.`));
    const answer = context.interactive ? await context.ask(say('现在设置？[Y/n] ', 'Set one up now? [Y/n] ')) : 'n';
    if (!/^(y|yes|是|)$/i.test(answer.trim())) return output.note('gateway --help');
    const { setup } = await import('./setup.ts');
    return setup(context, flags, argument, all);
  }
  if (!context.screens) {
    // A terminal that cannot be drawn on reads the same once.
    const { top } = await import('./top.ts');
    return top(context, { ...flags, once: true }, argument, all);
  }
  const { boardScreen } = await import('../../screens/board.tsx');
  await boardScreen(context);
};
