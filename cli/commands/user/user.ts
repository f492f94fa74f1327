/** Users and what they hold. */
import type { User } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { maxQuota } from '../../../server/contract/pricing/charge.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { onEach } from '../../parts/bulk.ts';
import { cardOf } from '../../parts/card.ts';
import { modeOf } from '../../parts/existing.ts';
import { isId, listOf, only, rowsOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { quotaOf } from '../../parts/numbers.ts';

const roleWord = (role: number): string => (role >= 100 ? 'root' : role >= 10 ? 'admin' : 'user');
const statusWord = (status: number): string => (status === 1 ? 'enabled' : 'disabled');
/** A closed account keeps its balance in the list. */
const stateWord = ({ status, DeletedAt: closed }: User): string => (closed === null ? statusWord(status) : 'closed');

const allUsers = (client: Client): Promise<User[]> => rowsOf(client, 'user.list');

/** @throws AppError not_found, user_unknown. */
export async function findUser(client: Client, ref: string): Promise<User> {
  if (isId(ref)) return client.call('user.get', { id: Number(ref) });
  return only(
    (await allUsers(client)).filter((user) => user.username === ref),
    'user',
    ref,
  );
}

async function show(context: Context, user: User, result: string): Promise<void> {
  const words = { ...user, role: roleWord(user.role), status: stateWord(user) };
  context.output.object({ result, ...user }, cardOf(context, words, await moneyOf(context)), String(user.id));
}

export const list = listOf('user.list', {
  columns: () => ({
    id: 'id',
    username: 'username',
    role: (row) => roleWord(row.role),
    status: stateWord,
    group: ['group', 1],
    quota: 'quota',
    used: 'used_quota',
    requests: 'request_count',
    email: ['email', 2],
  }),
});

export const get: CommandRun = async (context, _flags, ref) => {
  await show(context, await findUser(await context.client(), ref), 'unchanged');
};

const passwordOf = (context: Context, flags: Readonly<Record<string, unknown>>) =>
  context.secret(flags, 'password', 'GATEWAY_USER_PASSWORD');

async function make(context: Context, flags: FlagValues, password: string | undefined): Promise<void> {
  const values = needed({ '--username': text(flags.username), '--password-stdin': password });
  const client = await context.client();
  const made = await client.call('user.create', {
    username: values['--username'],
    password: values['--password-stdin'],
    display_name: text(flags.displayName),
  });
  const group = text(flags.group);
  if (group === undefined) return show(context, made, 'created');
  const { result: _, ...grouped } = await client.call('user.update', { id: made.id, group });
  await show(context, grouped, 'created');
}

const existingUser = async (context: Context, username: string | undefined): Promise<User | undefined> =>
  username === undefined
    ? undefined
    : (await allUsers(await context.client())).find((user) => user.username === username);

/** Without `--if-exists` the server itself says that the name is taken. */
export const create: CommandRun = async (context, flags) => {
  const mode = modeOf(flags, 'error');
  const password = await passwordOf(context, flags);
  const existing = mode === 'error' ? undefined : await existingUser(context, text(flags.username));
  if (existing === undefined) return make(context, flags, password);
  if (mode === 'skip') return show(context, existing, 'unchanged');
  await change(context, flags, existing, password);
};

/** Creates, or changes what is given; an existing password is changed only when one is given. */
export const upsert: CommandRun = async (context, flags) => {
  needed({ '--username': text(flags.username) });
  const existing = await existingUser(context, text(flags.username));
  const password = await passwordOf(context, flags);
  if (existing === undefined) return make(context, flags, password);
  await change(context, flags, existing, password);
};

async function change(
  context: Context,
  flags: FlagValues,
  existing: User,
  password: string | undefined,
): Promise<void> {
  const client = await context.client();
  const fields = { display_name: text(flags.displayName), group: text(flags.group), password };
  if (Object.values(fields).every((value) => value === undefined)) return show(context, existing, 'unchanged');
  const { result, ...user } = await client.call('user.update', { id: existing.id, ...fields });
  await show(context, user, result);
}

export const edit: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const { id } = await findUser(client, ref);
  const fields = { username: text(flags.username), display_name: text(flags.displayName), group: text(flags.group) };
  const { result, ...user } = await client.call('user.update', { id, ...fields });
  await show(context, user, result);
};

type Action = 'enable' | 'disable' | 'promote' | 'demote' | 'delete';

const manage = (action: Action): CommandRun =>
  onEach(
    async (client, _flags, refs) => {
      const users = await Promise.all(refs.map((ref) => findUser(client, ref)));
      return users.map(({ id, username: name }) => ({ id, name }));
    },
    async (client, { id }) => {
      const { role, status } = await client.call('user.manage', { id, action });
      return action === 'delete' ? 'deleted' : `${roleWord(role)}, ${statusWord(status)}`;
    },
    (users) => {
      const names = users.map(({ name }) => name).join(', ');
      return action === 'delete' ? [`注销用户 ${names}？`, `Close the account of ${names}?`] : undefined;
    },
  );

export const enable = manage('enable');
export const disable = manage('disable');
export const promote = manage('promote');
export const demote = manage('demote');
export const rm = manage('delete');

async function move(context: Context, user: User, by: number): Promise<void> {
  const client = await context.client();
  if (by < 0) {
    const taken = (await moneyOf(context)).of(-by);
    await context.confirm(context.say(`从 ${user.username} 扣除 ${taken}？`, `Take ${taken} from ${user.username}?`));
  }
  if (by === 0) return show(context, user, 'unchanged');
  const { result, ...changed } = await client.call('user.update', { id: user.id, add_quota: by });
  await show(context, changed, result);
}

const amountOf = (all: readonly string[]): string => {
  const [, amount] = all;
  if (amount === undefined) throw new AppError('input_needed', { flags: 'AMOUNT' });
  return amount;
};

export const addQuota: CommandRun = async (context, _flags, ref, all) => {
  const user = await findUser(await context.client(), ref);
  await move(context, user, quotaOf(amountOf(all), 'AMOUNT', { ...(await moneyOf(context)), min: -maxQuota }));
};

export const setQuota: CommandRun = async (context, _flags, ref, all) => {
  const user = await findUser(await context.client(), ref);
  await move(context, user, quotaOf(amountOf(all), 'AMOUNT', await moneyOf(context)) - user.quota);
};

/** On the machine itself the old password is not asked for: the owner of the data owns the accounts. */
export const passwd: CommandRun = async (context, flags, ref) => {
  const password =
    (await passwordOf(context, flags)) ??
    (context.interactive
      ? await context.ask(`${context.say('新密码', 'new password')}: `, { hidden: true })
      : undefined);
  const values = needed({ '--password-stdin': password });
  const client = await context.client();
  if (context.url === '') await client.call('local.password', { username: ref, password: values['--password-stdin'] });
  else {
    const { id } = await findUser(client, ref);
    await client.call('user.update', { id, password: values['--password-stdin'] });
  }
  context.output.object({ result: 'updated', username: ref }, [context.say('密码已修改', 'password changed')], ref);
};
