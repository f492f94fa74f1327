/** Prices for everybody, usage by the hour, drawings and tasks. */
import { AppError } from '../../contract/errors.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { pageSize } from './page.ts';

interface Window {
  readonly p?: number | undefined;
  readonly page_size?: number | undefined;
}

const firstFromZero = (page: number | undefined): number => Math.max(0, page ?? 0);

/** Answers with the page alone; how many there are goes into a header. */
async function counted<Item>(
  { reply, input }: Pick<Call<Window>, 'reply' | 'input'>,
  read: (page: number, size: number) => Promise<{ readonly items: Item[]; readonly total: number }>,
): Promise<Item[]> {
  const { items, total } = await read(firstFromZero(input.p), pageSize(input.page_size));
  reply.header('X-Total-Count', String(total));
  return items;
}

export const usageHandlers: HandlersOf<
  'pricing.get' | 'usage.all' | 'usage.self' | 'drawing.list' | 'drawing.self' | 'task.list' | 'task.self'
> = {
  'pricing.get': async ({ services, actor }) => {
    const list = await services.priceList.read(actor.group);
    const chains = await services.chains.priced(actor.group);
    return chains.length === 0 ? list : { ...list, virtual_models: chains };
  },
  'usage.all': ({ services, input }) => services.usage.all(input, input.username ?? ''),
  'usage.self': ({ services, input, actor }) => services.usage.self(input, actor.userId),
  'drawing.list': (call) =>
    counted(call, (page, size) => {
      const { mj_id: mjId, channel_id: channelId, start_timestamp: from, end_timestamp: to } = call.input;
      return call.services.taskLists.drawings({ mjId, channelId, from, to }, page, size, true);
    }),
  'drawing.self': async (call) => {
    if (!call.services.options.get('DrawingEnabled')) throw new AppError('drawing_closed');
    return counted(call, (page, size) => {
      const { mj_id: mjId, start_timestamp: from, end_timestamp: to } = call.input;
      return call.services.taskLists.drawings({ mjId, from, to, userId: call.actor.userId }, page, size, false);
    });
  },
  'task.list': (call) =>
    counted(call, (page, size) => {
      const { task_id: taskId, channel_id: channelId, start_timestamp: from, end_timestamp: to, ...rest } = call.input;
      return call.services.taskLists.songs({ ...rest, taskId, channelId, from, to }, page, size, true);
    }),
  'task.self': async (call) => {
    if (!call.services.options.get('TaskEnabled')) throw new AppError('tasks_closed');
    return counted(call, (page, size) => {
      const { task_id: taskId, start_timestamp: from, end_timestamp: to, ...rest } = call.input;
      return call.services.taskLists.songs({ ...rest, taskId, from, to, userId: call.actor.userId }, page, size, false);
    });
  },
};
