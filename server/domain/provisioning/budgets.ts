/** Budgets of a declarative file; natural key: whose, window and unit. */
import type { Database } from '../../../db/open.ts';
import { createTokensRepository } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import type { BudgetHolder } from '../../contract/budgets.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ProvisionChange, ProvisionedBudget } from '../../contract/provision.ts';
import type { BudgetsService } from '../budgets/service.ts';
import { changedFields, describeChanges } from './compare.ts';
import { amountOf } from './values.ts';

interface Named {
  readonly holder: BudgetHolder;
  readonly subject: string;
  /** For people. */
  readonly name: string;
}

export async function applyBudgets(
  { database, budgets }: { readonly database: Database; readonly budgets: BudgetsService },
  expected: readonly ProvisionedBudget[],
  quotaPerUnit: number,
): Promise<ProvisionChange[]> {
  if (expected.length === 0) return [];
  const users = createUsersRepository(database);
  const keys = await createTokensRepository(database).all();
  const present = await budgets.list();

  const userOf = async (name: string | undefined): Promise<number> => {
    const row = name === undefined ? await users.firstWithRole(Role.root) : await users.findByLogin(name);
    if (row === undefined) throw new AppError('not_found', { what: `user ${name ?? ''}` });
    return row.id;
  };
  const namedBy = async ({
    site,
    group,
    user,
    token,
    owner,
    label,
    end_users_of: each,
  }: ProvisionedBudget): Promise<Named> => {
    const given = [site, group, user, token, label, each].filter((one) => one !== undefined).length;
    if (given !== 1)
      throw new AppError('params_invalid', { detail: 'budgets: site | group | user | token | label | end_users_of' });
    if (label !== undefined) return { holder: 'label', subject: label, name: `label ${label}` };
    if (group !== undefined) return { holder: 'group', subject: group, name: `group ${group}` };
    if (user !== undefined) return { holder: 'user', subject: String(await userOf(user)), name: `user ${user}` };
    const keyName = token ?? each;
    if (keyName === undefined) return { holder: 'site', subject: '', name: 'site' };
    const ownerId = await userOf(owner);
    const row = keys.find((key) => key.name === keyName && key.user_id === ownerId);
    if (row === undefined) throw new AppError('not_found', { what: `token ${keyName}` });
    return token === undefined
      ? { holder: 'end_user', subject: String(row.id), name: `end users of ${keyName}` }
      : { holder: 'token', subject: String(row.id), name: `token ${token}` };
  };

  const changes: ProvisionChange[] = [];
  for (const budget of expected) {
    const { window, unit = window === 'request' ? 'tokens' : 'money', zone } = budget;
    const { holder, subject, name } = await namedBy(budget);
    const amount = unit === 'money' ? amountOf('amount', budget.amount, quotaPerUnit) : Number(budget.amount);
    const about = { kind: 'budget', name: `${name} ${window} ${unit}` } as const;
    const row = present.find(
      (one) => one.holder === holder && one.subject === subject && one.window === window && one.unit === unit,
    );
    const fields = row === undefined ? [] : describeChanges(changedFields({ amount, zone }, { ...row }), { ...row });
    if (row === undefined || fields.length > 0)
      await budgets.set({ holder, subject, window, unit, amount, zone }, false);
    changes.push({
      action: row === undefined ? 'create' : fields.length > 0 ? 'update' : 'unchanged',
      ...about,
      fields,
    });
  }
  return changes;
}
