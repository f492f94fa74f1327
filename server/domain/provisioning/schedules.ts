/** Statements by mail of a declarative file; natural key: whose statement, to whom, how often. Addresses tell those of one key apart. */
import type { Database } from '../../../db/open.ts';
import { createStatementSchedulesRepository } from '../../../db/repositories/statement-schedules.ts';
import { createTokensRepository } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ProvisionChange, ProvisionedSchedule } from '../../contract/provision.ts';
import type { SchedulesService } from '../statements/schedules.ts';
import type { StatementScope } from '../statements/service.ts';
import { changedFields, describeChanges } from './compare.ts';

interface Planned {
  readonly user_id: number;
  readonly every: string;
  readonly scope: StatementScope;
}

/** The same however it was written. */
const keyOf = ({ user_id: to, every, scope }: Planned): string => {
  const { userId, tokenId, tag, label, project } = scope;
  return JSON.stringify([to, every, userId ?? 0, tokenId ?? 0, tag ?? '', label ?? '', project ?? '']);
};

export async function applySchedules(
  { database, schedules }: { readonly database: Database; readonly schedules: SchedulesService },
  expected: readonly ProvisionedSchedule[],
): Promise<ProvisionChange[]> {
  if (expected.length === 0) return [];
  const users = createUsersRepository(database);
  const keys = await createTokensRepository(database).all();
  const present = await createStatementSchedulesRepository(database).list();

  const userOf = async (name: string | undefined): Promise<number> => {
    const row = name === undefined ? await users.firstWithRole(Role.root) : await users.findByLogin(name);
    if (row === undefined) throw new AppError('not_found', { what: `user ${name ?? ''}` });
    return row.id;
  };
  /** @returns whose statement it is, who has it mailed where the file does not say, and its name for people. */
  const scopeOf = async ({ user, token, owner, tag, label, project }: ProvisionedSchedule) => {
    const given = [token, tag, label, project].filter((one) => one !== undefined).length;
    if (given > 1 || (user === undefined && given === 0) || (user !== undefined && (token ?? tag) !== undefined))
      throw new AppError('params_invalid', { detail: 'schedules: user | token | tag | label | project' });
    if (token !== undefined) {
      const userId = await userOf(owner);
      const row = keys.find((key) => key.name === token && key.user_id === userId);
      if (row === undefined) throw new AppError('not_found', { what: `token ${token}` });
      return { scope: { tokenId: row.id }, userId, name: `token ${token}` };
    }
    const userId = user === undefined ? undefined : await userOf(user);
    const scope: StatementScope = { userId, tag, label, project };
    const words = Object.entries({ user, tag, label, project }).flatMap(([kind, value]) =>
      value === undefined ? [] : [`${kind} ${value}`],
    );
    return { scope, userId: userId ?? (await userOf(undefined)), name: words.join(' ') };
  };

  const planned = [];
  for (const schedule of expected) {
    const { every = 'month', to, email } = schedule;
    const { scope, userId: whose, name } = await scopeOf(schedule);
    const userId = to === undefined ? whose : await userOf(to);
    const key = keyOf({ user_id: userId, every, scope });
    planned.push({ schedule, every, scope, userId, key, email: email?.trim(), name });
  }
  // One user may get the same statement at several addresses: whose address stays keeps its own.
  const left = new Set(present);
  const claimed = new Map<(typeof planned)[number], (typeof present)[number]>();
  for (const isSame of [true, false])
    for (const one of planned) {
      if (claimed.has(one)) continue;
      const row = [...left].find(
        (stored) =>
          keyOf({ ...stored, scope: JSON.parse(stored.scope) }) === one.key &&
          (!isSame || (one.email ?? stored.email) === stored.email),
      );
      if (row === undefined) continue;
      left.delete(row);
      claimed.set(one, row);
    }

  const changes: ProvisionChange[] = [];
  for (const one of planned) {
    const { every, scope, userId, email, name } = one;
    const { to, status } = one.schedule;
    const about = { kind: 'schedule', name: `${name} ${every}${to === undefined ? '' : ` to ${to}`}` } as const;
    const row = claimed.get(one);
    const paused = status === undefined ? undefined : Number(status === 'disabled');
    const changed = row === undefined ? {} : changedFields({ email, paused }, { ...row });
    if (row === undefined) {
      const createdBy = await userOf(undefined);
      const id = await schedules.create({ userId, scope, every, email: email ?? '', createdBy });
      if (paused === 1) await schedules.update(id, { paused: true });
    } else if (Object.keys(changed).length > 0)
      await schedules.update(row.id, { email, ...(paused === undefined ? {} : { paused: paused === 1 }) });
    const fields = row === undefined ? [] : describeChanges(changed, { ...row });
    changes.push({
      action: row === undefined ? 'create' : fields.length > 0 ? 'update' : 'unchanged',
      ...about,
      fields,
    });
  }
  return changes;
}
