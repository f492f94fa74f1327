/** Moving the site to PostgreSQL and back. */
import { AppError } from '../../../server/contract/errors.ts';
import type { CommandRun } from '../../command.ts';

export const move: CommandRun = async (context, flags, input) => {
  if (context.url !== '') throw new AppError('usage', { detail: '--url' });
  const { plannedMove } = await import('../../../server/app/move-database.ts');
  const url = input === '' ? (context.env.DATABASE_URL ?? '') : input;
  const { server, from, to, move: run } = plannedMove(url, context.dataDir, flags.back === true);
  await context.confirm(
    context.say(
      `把站点从 ${from} 迁移到 ${to}（源数据不变）？`,
      `Move the site from ${from} to ${to}? The source stays as it is`,
    ),
  );
  let lastLine = '';
  const report = await context.during(
    run({
      dataDir: context.dataDir,
      env: context.env,
      server,
      onJournal: context.onJournal,
      progress: ({ step, table, rows, of }) => {
        const percent = of === 0 ? 100 : Math.floor((rows / of) * 100);
        const line = `${step === 'copied' ? context.say('复制', 'copied') : context.say('核对', 'compared')} ${table} ${percent}%`;
        if (line !== lastLine) context.output.note(line);
        lastLine = line;
      },
    }),
  );
  context.output.object(
    { result: 'moved', from, to, rows: report.rows, continued: report.continued, tables: report.tables },
    [
      context.say(
        `已迁移并核对 ${report.rows} 行：${from} -> ${to}`,
        `rows moved and compared: ${report.rows}, ${from} -> ${to}`,
      ),
    ],
    String(report.rows),
  );
};
