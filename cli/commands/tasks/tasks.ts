/** Drawings and songs that take minutes. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines, isoTime } from '../../output.ts';
import { listOf } from '../../parts/list-output.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { pastTime } from '../../parts/when.ts';

/** @param second what the server counts a second as. */
const shared = (flags: FlagValues, second = 1) => {
  const since = pastTime(text(flags.since), '--since', Date.now());
  return {
    channel_id: wholeNumber(text(flags.channel), '--channel'),
    start_timestamp: since === undefined ? undefined : since * second,
  };
};

export const drawings = listOf('drawing.list', {
  columns: () => ({
    id: 'mj_id',
    submitted: (row) => isoTime(Math.floor(row.submit_time / 1000)),
    user: 'user_id',
    channel: 'channel_id',
    action: 'action',
    status: 'status',
    progress: { value: (row) => row.progress, right: true },
    reason: 'fail_reason',
  }),
  key: 'mj_id',
  input: (flags) => ({ ...shared(flags, 1000), mj_id: text(flags.id) ?? '' }),
  limit: 20,
});

export const tasks = listOf('task.list', {
  columns: () => ({
    id: 'task_id',
    submitted: 'submit_time',
    user: 'user_id',
    channel: 'channel_id',
    platform: 'platform',
    action: 'action',
    status: 'status',
    progress: { value: (row) => row.progress, right: true },
    reason: 'fail_reason',
  }),
  key: 'task_id',
  input: (flags) => ({ ...shared(flags), task_id: text(flags.id) ?? '', status: text(flags.status) ?? '' }),
  limit: 20,
});

/** @throws AppError not_found */
function findTask<Row extends object>(context: Context, rows: readonly Row[], what: string, id: string): void {
  const [row] = rows;
  if (row === undefined) throw new AppError('not_found', { what: `${what} ${id}` });
  context.output.object(row, detailLines(row), id);
}

export const drawing: CommandRun = async (context, _flags, id) =>
  findTask(
    context,
    await (await context.client()).call('drawing.list', { p: 0, page_size: 1, mj_id: id }),
    'drawing',
    id,
  );

export const task: CommandRun = async (context, _flags, id) =>
  findTask(context, await (await context.client()).call('task.list', { p: 0, page_size: 1, task_id: id }), 'task', id);
