/** Drawings and songs that take minutes. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines, isoTime } from '../../output.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { pastMoment } from '../../parts/when.ts';

const most = 100;
const shared = (flags: FlagValues) => ({
  p: 0,
  page_size: Math.min(most, wholeNumber(text(flags.limit), '--limit') ?? 20),
  channel_id: wholeNumber(text(flags.channel), '--channel'),
  since: pastMoment(text(flags.since), '--since', Date.now()),
});

export const drawings: CommandRun = async (context, flags) => {
  const { since, ...paging } = shared(flags);
  const rows = await (await context.client()).call('drawing.list', {
    ...paging,
    mj_id: text(flags.id) ?? '',
    // Drawings count in milliseconds.
    start_timestamp: since === undefined ? undefined : since * 1000,
  });
  context.output.list(
    rows,
    [
      { name: 'id', value: (row) => row.mj_id },
      { name: 'submitted', value: (row) => isoTime(Math.floor(row.submit_time / 1000)) },
      { name: 'user', value: (row) => String(row.user_id), right: true },
      { name: 'channel', value: (row) => String(row.channel_id), right: true },
      { name: 'action', value: (row) => row.action },
      { name: 'status', value: (row) => row.status },
      { name: 'progress', value: (row) => row.progress, right: true },
      { name: 'reason', value: (row) => row.fail_reason },
    ],
    (row) => row.mj_id,
  );
};

/** @throws AppError not_found */
function shown<Row extends object>(context: Context, rows: readonly Row[], what: string, id: string): void {
  const [row] = rows;
  if (row === undefined) throw new AppError('not_found', { what: `${what} ${id}` });
  context.output.object(row, detailLines(row), id);
}

export const drawing: CommandRun = async (context, _flags, id) => {
  const rows = await (await context.client()).call('drawing.list', { p: 0, page_size: 1, mj_id: id });
  shown(context, rows, 'drawing', id);
};

export const task: CommandRun = async (context, _flags, id) => {
  const rows = await (await context.client()).call('task.list', { p: 0, page_size: 1, task_id: id });
  shown(context, rows, 'task', id);
};

export const tasks: CommandRun = async (context, flags) => {
  const { since, ...paging } = shared(flags);
  const rows = await (await context.client()).call('task.list', {
    ...paging,
    task_id: text(flags.id) ?? '',
    status: text(flags.status) ?? '',
    start_timestamp: since,
  });
  context.output.list(
    rows,
    [
      { name: 'id', value: (row) => row.task_id },
      { name: 'submitted', value: (row) => isoTime(row.submit_time) },
      { name: 'user', value: (row) => String(row.user_id), right: true },
      { name: 'channel', value: (row) => String(row.channel_id), right: true },
      { name: 'platform', value: (row) => row.platform },
      { name: 'action', value: (row) => row.action },
      { name: 'status', value: (row) => row.status },
      { name: 'progress', value: (row) => row.progress, right: true },
      { name: 'reason', value: (row) => row.fail_reason },
    ],
    (row) => row.task_id,
  );
};
