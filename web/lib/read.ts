/** Every read of the console. That one failed is always shown: by the table, by the piece of the page, or above the page. */
import {
  keepPreviousData,
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiError } from './api.ts';

export interface Failure {
  readonly error: Error;
  /** Epoch milliseconds of what is shown instead; 0 = there is nothing. */
  readonly lastGoodAt: number;
  readonly retry: () => unknown;
}

/** What a table needs to know about the read of its rows. */
export interface ListState {
  readonly pending: boolean;
  readonly failure: Failure | null;
}

export interface List<Data> extends ListState {
  /** The last good answer while a newer one fails; undefined = there was none yet. */
  readonly data: Data | undefined;
}

/** Who shows a failure. */
type FailureDisplay = 'list' | 'piece' | 'page';

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: { readonly shownBy?: FailureDisplay };
  }
}

type ReadOptions<Data> = Pick<
  UseQueryOptions<Data>,
  'enabled' | 'placeholderData' | 'queryFn' | 'refetchInterval' | 'staleTime'
> & { readonly queryKey: QueryKey };

/** What a server has decided stays decided; what went wrong on the way may go well at once. */
export const shouldRetry = (count: number, error: Error): boolean =>
  count < 1 && (!(error instanceof ApiError) || error.status >= 500 || error.status === 0);

/** What a piece of the page cannot be shown without: the boundary around it says what failed. */
export const useRead = <Data>(options: ReadOptions<Data>): UseQueryResult<Data> =>
  useQuery({
    ...options,
    meta: { shownBy: 'piece' },
    throwOnError: (_error, query) => query.state.data === undefined,
  });

/** What a piece can be shown without: the failure is said above the page. */
export const useOptionalRead = <Data>(options: ReadOptions<Data>): UseQueryResult<Data> =>
  useQuery({ ...options, meta: { shownBy: 'page' } });

const maxHold = 1500;

/**
 * Holds a page back until its optional data is there too: arriving later, that would move what is being read.
 * @param pending whether the optional data is still being read.
 * @returns whether to wait; false after a moment in any case.
 */
export function useHeld(pending: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), maxHold);
    return () => clearTimeout(timer);
  }, []);
  return pending && !late;
}

/** One such read for each of a list, in its order; undefined = not known (yet). */
export const useOptionalReads = <Data>(options: readonly ReadOptions<Data>[]): readonly (Data | undefined)[] =>
  useQueries({
    queries: options.map((one) => ({ ...one, meta: { shownBy: 'page' as const } })),
    combine: dataOfEach,
  }) as readonly (Data | undefined)[];

const dataOfEach = (results: readonly { readonly data: unknown }[]) => results.map(({ data }) => data);

function useLastGood<Data>(result: {
  readonly data: Data | undefined;
  readonly isPlaceholderData?: boolean;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly dataUpdatedAt: number;
  readonly refetch: () => unknown;
}): List<Data> {
  const last = useRef<{ readonly data: Data; readonly at: number } | null>(null);
  if (result.data !== undefined && result.isPlaceholderData !== true)
    last.current = { data: result.data, at: result.dataUpdatedAt };
  return {
    data: result.data ?? last.current?.data,
    pending: result.isPending,
    failure:
      result.error === null
        ? null
        : { error: result.error, lastGoodAt: last.current?.at ?? 0, retry: () => result.refetch() },
  };
}

/** Rows of a table, which shows the failure in their place or above the last good ones. */
export const useList = <Data>(options: ReadOptions<Data>): List<Data> =>
  useLastGood(useQuery({ placeholderData: keepPreviousData, ...options, meta: { shownBy: 'list' } }));

export interface PagedList<Part> extends List<readonly Part[]> {
  /** Asks for the next part, where there is one. */
  readonly more: () => void;
}

/** Rows that come part by part. @param options.isLast whether nothing follows a part. */
export function usePagedList<Part>(options: {
  readonly queryKey: QueryKey;
  readonly enabled: boolean;
  /** @param part counted from 1. */
  readonly queryFn: (part: number) => Promise<Part>;
  readonly isLast: (part: Part) => boolean;
}): PagedList<Part> {
  const { queryKey, enabled, queryFn, isLast } = options;
  const result = useInfiniteQuery({
    queryKey,
    enabled,
    queryFn: ({ pageParam }) => queryFn(pageParam),
    initialPageParam: 1,
    getNextPageParam: (last: Part, parts: readonly Part[]) => (isLast(last) ? undefined : parts.length + 1),
    meta: { shownBy: 'list' },
  });
  const { hasNextPage, isFetching, fetchNextPage, isFetchNextPageError } = result;
  const list = useLastGood({
    ...result,
    data: result.data?.pages,
    refetch: () => (isFetchNextPageError ? fetchNextPage() : result.refetch()),
  });
  return {
    ...list,
    more: () => {
      if (hasNextPage && !isFetching && !isFetchNextPageError) void fetchNextPage();
    },
  };
}
