/** Filters of tables that a user keeps under a name. */

import type { Database } from '../../../db/open.ts';
import { createSavedFiltersRepository, type SavedFilterRow } from '../../../db/repositories/saved-filters.ts';
import { AppError } from '../../contract/errors.ts';

const maxNameLength = 40;
const maxQueryLength = 2000;
const max = 100;

export type SavedFiltersService = ReturnType<typeof createSavedFilters>;

export function createSavedFilters(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createSavedFiltersRepository(deps.database);
  const view = ({ id, place, name, query }: SavedFilterRow) => ({ id, place, name, query });
  return {
    /** @param place '' = all. */
    list: async (userId: number, place: string) => (await repository.list(userId, place)).map(view),
    /** @throws AppError token_name_required, params_invalid, filter_limit. */
    async save(userId: number, place: string, given: string, query: string) {
      const name = given.trim();
      if (name === '') throw new AppError('token_name_required');
      if ([...name].length > maxNameLength || query.length > maxQueryLength)
        throw new AppError('params_invalid', { detail: 'name, query' });
      const kept = await repository.list(userId, '');
      const isNew = !kept.some((one) => one.place === place && one.name === name);
      if (isNew && kept.length >= max) throw new AppError('filter_limit', { most: max });
      return view(
        await repository.save({ user_id: userId, place, name, query, created_at: Math.floor(deps.now() / 1000) }),
      );
    },
    async remove(id: number, userId: number): Promise<void> {
      if (!(await repository.remove(id, userId))) throw new AppError('not_found', { what: `filter ${id}` });
    },
  };
}
