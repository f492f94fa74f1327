/** Budgets that new keys and users get, as options say. */

import type { FirstBudget } from '../../../db/repositories/budgets.ts';
import type { OptionsService } from '../options/service.ts';
import { amountOf } from '../provisioning/values.ts';
import type { BudgetsService } from './service.ts';

/**
 * Those of a key or user that is about to be made.
 * @throws AppError budget_many where there is no room for them, params_invalid where the site counts in coarser steps than they are written.
 */
export type BudgetDefaults = (holder: 'token' | 'user') => Promise<readonly FirstBudget[]>;

export const createBudgetDefaults =
  ({
    options,
    budgets,
    now,
  }: {
    readonly options: Pick<OptionsService, 'get'>;
    readonly budgets: Pick<BudgetsService, 'needRoom'>;
    /** Epoch milliseconds. */
    readonly now: () => number;
  }): BudgetDefaults =>
  async (holder) => {
    const quotaPerUnit = options.get('QuotaPerUnit');
    const at = Math.floor(now() / 1000);
    const made = options
      .get(holder === 'token' ? 'budgets.new_key' : 'budgets.new_user')
      .map(({ window, unit, amount, zone = '' }) => ({
        ...{ period: window, unit, zone, raise_amount: 0, raise_until: 0 },
        amount: unit === 'money' ? amountOf('amount', amount, quotaPerUnit) : Number(amount),
        // Nothing was used before.
        ...{ counted: 1, created_at: at, updated_at: at },
      }));
    await budgets.needRoom(made.length);
    return made;
  };
