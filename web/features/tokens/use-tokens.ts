/** The tokens that the address asks for. */

import { useMemo } from 'react';
import type { Token } from '../../../server/contract/entities.ts';
import { tokenSorts } from '../../../server/contract/sort.ts';
import { type PageState, usePageState } from '../../components/pager.tsx';
import { call, callPage } from '../../lib/api.ts';
import { type ListState, useList, useOptionalRead } from '../../lib/read.ts';
import { sortIn, type Url, useUrl } from '../../lib/url.ts';

export interface Tokens {
  readonly url: Url;
  readonly pageState: PageState;
  readonly rows: readonly Token[];
  /** Rows on all pages; undefined = not known yet. */
  readonly total: number | undefined;
  readonly list: ListState;
  readonly searching: boolean;
  /** What decides which rows are shown. */
  readonly scope: string;
  /** Every row that matches, on whatever page. */
  readonly all: () => Promise<readonly Token[]>;
}

/** Enabled, disabled, expired, exhausted. */
export const tokenStatuses = ['1', '2', '3', '4'] as const;

/** What the server gives at once. */
const pageSize = 100;
const none: readonly Token[] = [];

export function useTokens(): Tokens {
  const url = useUrl();
  const pageState = usePageState();
  const { page, size } = pageState;
  const [keyword, key] = [url.get('q'), url.get('key')];
  const status = tokenStatuses.find((one) => one === url.get('status'));
  const searching = keyword !== '' || key !== '' || status !== undefined;
  const sort = sortIn(url, tokenSorts);
  const ask = (p: number, count: number) =>
    callPage('token.search', {
      ...{ keyword, token: key, p, size: count, sort },
      ...(status === undefined ? {} : { status: Number(status) }),
    });
  const list = useList({
    queryKey: ['tokens', page, size, keyword, key, status, sort],
    queryFn: () => ask(page - 1, size),
  });
  const all = async () => {
    const found: Token[] = [];
    for (let p = 0; ; p++) {
      const { items: some } = await ask(p, pageSize);
      found.push(...some);
      if (some.length < pageSize) return found;
    }
  };
  return {
    url,
    pageState,
    rows: list.data?.items ?? none,
    total: list.data?.total,
    list,
    searching,
    scope: [page, size, keyword, key, status, sort].join(' '),
    all,
  };
}

/** Requests of the last 24 hours by key; undefined = not known yet. */
export function useRequestsToday(): ReadonlyMap<number, number> | undefined {
  const traffic = useOptionalRead({
    queryKey: ['token-traffic'],
    queryFn: () => call('traffic.self', { range: '24h', by: 'token', points: false, limit: 1000 }),
  }).data;
  return useMemo(() => traffic && new Map(traffic.series.map(({ id, total }) => [id, total.requests])), [traffic]);
}
