/** Above every page: reads that failed and whose failure is not shown anywhere else on the page. */
import { type Query, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { FailureNote } from '../components/failure.tsx';
import { isMissing } from '../lib/api.ts';

/** Lists show their own failures; so does a part of the page that has no data. */
const needsNote = (query: Query): boolean =>
  query.state.status === 'error' &&
  query.observers.length > 0 &&
  query.meta?.shownBy !== 'list' &&
  // The page itself says that what its address names does not exist.
  !isMissing(query.state.error) &&
  !(query.meta?.shownBy === 'piece' && query.state.data === undefined);

/** A list says it already, and its button tries everything again. */
const isSaidByList = (error: Error | null, all: readonly Query[]): boolean =>
  all.some(
    ({ state, observers, meta }) =>
      meta?.shownBy === 'list' &&
      state.status === 'error' &&
      observers.length > 0 &&
      (state.error as Error | null)?.message === error?.message,
  );

export function FailedReads() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const subscribe = useCallback((listener: () => void) => cache.subscribe(listener), [cache]);
  const first = useSyncExternalStore(subscribe, () => {
    const all = cache.getAll();
    return all.find((query) => needsNote(query) && !isSaidByList(query.state.error, all));
  });
  const error = first?.state.error ?? null;
  if (first === undefined || error === null) return null;
  const retry = () => client.refetchQueries({ predicate: needsNote });
  return (
    <div className="px-5 pt-3">
      <FailureNote
        failure={{ error, lastGoodAt: first.state.dataUpdatedAt, retry }}
        title={first.state.data === undefined ? t('failure.part') : t('failure.notRefreshed')}
      />
    </div>
  );
}
