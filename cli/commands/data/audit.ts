/** The audit trail. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, integer, text } from '../../command.ts';
import { detailLines, isoTime } from '../../output.ts';

export const list: CommandRun = async (context, flags) => {
  const limit = integer(text(flags.limit), '--limit') ?? 20;
  const { items } = await (await context.client()).call('audit.list', { p: 1, page_size: limit });
  context.output.list(
    items,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'time', value: (row) => isoTime(row.created_at) },
      { name: 'by', value: (row) => row.actor },
      { name: 'action', value: (row) => row.action },
      { name: 'target', value: (row) => row.target },
      { name: 'detail', value: (row) => row.detail },
    ],
    (row) => String(row.id),
  );
};

export const verify: CommandRun = async (context) => {
  const found = await context.during((await context.client()).call('audit.verify'));
  context.output.object(found, detailLines(found), String(found.checked));
  if (found.broken !== null) throw new AppError('check_failed', { detail: `#${found.broken}` });
};
