/** Budgets of keys, users, groups and the site. */
import { AppError } from '../../contract/errors.ts';
import type { HandlersOf } from './handlers-of.ts';

export const budgetHandlers: HandlersOf<
  'budget.list' | 'budget.get' | 'budget.set' | 'budget.reset' | 'budget.delete'
> = {
  'budget.list': ({ services, input: { holder, subject } }) => services.budgets.list(holder, subject),
  'budget.get': ({ services, input }) => services.budgets.get(input.id),
  'budget.set': async ({ services, input, reply }) => {
    const { holder, window, unit = window === 'request' ? 'tokens' : 'money', amount, ...more } = input;
    const missing = Object.entries({ holder, window, amount }).flatMap(([name, value]) =>
      value === undefined ? [name] : [],
    );
    if (holder === undefined || window === undefined || amount === undefined)
      throw new AppError('params_invalid', { detail: missing.join(', ') });
    const { budget, result } = await services.budgets.set({ holder, window, unit, amount, ...more });
    if (result === 'unchanged') reply.unchanged();
    return budget;
  },
  'budget.reset': ({ services, input }) => services.budgets.reset(input.id),
  'budget.delete': ({ services, input }) => services.budgets.remove(input.id),
};
