/** Budgets that new keys and users get, as options say. */

import type { OptionsService } from '../options/service.ts';
import { amountOf } from '../provisioning/values.ts';
import type { BudgetsService } from './service.ts';

export interface BudgetDefaults {
  /** @throws AppError budget_many where there is no room for them, params_invalid where the site counts in coarser steps than they are written. */
  check(holder: 'token' | 'user'): Promise<void>;
  /** To one that was made just now. */
  give(holder: 'token' | 'user', id: number): Promise<void>;
}

export function createBudgetDefaults({
  options,
  budgets,
}: {
  readonly options: Pick<OptionsService, 'get'>;
  readonly budgets: Pick<BudgetsService, 'needRoom' | 'give'>;
}): BudgetDefaults {
  const of = (holder: 'token' | 'user') => {
    const quotaPerUnit = options.get('QuotaPerUnit');
    return options.get(holder === 'token' ? 'budgets.new_key' : 'budgets.new_user').map(({ amount, ...budget }) => ({
      ...budget,
      amount: budget.unit === 'money' ? amountOf('amount', amount, quotaPerUnit) : Number(amount),
    }));
  };
  return {
    check: async (holder) => budgets.needRoom(of(holder).length),
    give: async (holder, id) => budgets.give(holder, id, of(holder)),
  };
}
