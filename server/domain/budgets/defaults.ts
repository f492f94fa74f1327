/** Budgets that new keys and users get, as options say. */

import type { OptionsService } from '../options/service.ts';
import { amountOf } from '../provisioning/values.ts';
import type { BudgetsService } from './service.ts';

export interface BudgetDefaults {
  /** @throws AppError budget_many where there is no room for them. */
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
  const of = (holder: 'token' | 'user') => options.get(holder === 'token' ? 'budgets.new_key' : 'budgets.new_user');
  return {
    check: (holder) => budgets.needRoom(of(holder).length),
    async give(holder, id) {
      const defaults = of(holder);
      if (defaults.length === 0) return;
      const quotaPerUnit = options.get('QuotaPerUnit');
      await budgets.give(
        holder,
        id,
        defaults.map(({ amount, ...budget }) => ({
          ...budget,
          amount: budget.unit === 'money' ? amountOf('amount', amount, quotaPerUnit) : Number(amount),
        })),
      );
    },
  };
}
