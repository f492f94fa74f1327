/** Statements by mail. */
import { AppError } from '../../../server/contract/errors.ts';
import { type ScheduleEvery, scheduleEvery } from '../../../server/contract/statement-schedule.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { FlagValues } from '../../context.ts';
import { onEach, removal } from '../../parts/bulk.ts';
import { isId, listOf } from '../../parts/list-output.ts';
import { findToken } from '../token/token.ts';
import { findUser } from '../user/user.ts';

export const list = listOf('statement.schedules', {
  columns: () => ({
    id: 'id',
    statement: 'name',
    every: 'every',
    to: (row) => row.email || row.username,
    paused: 'paused',
    last: 'period',
    state: 'state',
    error: 'error',
  }),
  input: (flags) => ({ all: flags.all === true || undefined }),
});

/** @throws AppError usage */
const named = async (_client: Client, _flags: FlagValues, refs: readonly string[]) =>
  refs.map((ref) => {
    if (!isId(ref)) throw new AppError('usage', { detail: ref });
    return { id: Number(ref), name: ref };
  });

const setPaused = (paused: boolean): CommandRun =>
  onEach(named, async (client, { id }) => {
    await client.call('statement.edit_schedule', { id, paused });
    return paused ? 'paused' : 'resumed';
  });

export const enable = setPaused(false);
export const disable = setPaused(true);
export const rm = removal('statement.delete_schedule', named, ['账单邮件', 'statement by mail']);

/** @throws AppError usage */
function everyOf(written: string | undefined): ScheduleEvery | undefined {
  const found = scheduleEvery.find((one) => one === written);
  if (written !== undefined && found === undefined) throw new AppError('usage', { detail: `--every ${written}` });
  return found;
}

export const create: CommandRun = async (context, flags) => {
  const client = await context.client();
  const idOf = async (name: string | undefined) => (name === undefined ? undefined : (await findUser(client, name)).id);
  const every = everyOf(text(flags.every));
  const [user, to] = [await idOf(text(flags.user)), await idOf(text(flags.to))];
  const tokenName = text(flags.token);
  const owner = user === undefined ? 'self' : String(user);
  const token = tokenName === undefined ? undefined : (await findToken(client, tokenName, owner)).id;
  const { id } = await client.call('statement.schedule', {
    ...{ every, to, email: text(flags.email) },
    ...{ tag: text(flags.tag), label: text(flags.label), project: text(flags.project) },
    ...(token === undefined ? { user } : { token }),
  });
  context.output.object({ result: 'created', id }, [context.say(`已创建 ${id}`, `created ${id}`)], String(id));
};
