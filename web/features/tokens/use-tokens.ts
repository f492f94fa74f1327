/** The tokens that the address asks for. */

import type { Token } from '../../../server/contract/entities.ts';
import { type Paging, usePaging } from '../../components/pager.tsx';
import { call } from '../../lib/api.ts';
import { type ListState, useList } from '../../lib/read.ts';
import { type Url, useUrl } from '../../lib/url.ts';

export interface Tokens {
  readonly url: Url;
  readonly paging: Paging;
  readonly rows: readonly Token[];
  readonly list: ListState;
  readonly searching: boolean;
}

export function useTokens(): Tokens {
  const url = useUrl();
  const paging = usePaging();
  const { page, size } = paging;
  const [keyword, key] = [url.get('q'), url.get('key')];
  const searching = keyword !== '' || key !== '';
  const list = useList({
    queryKey: ['tokens', page, size, keyword, key],
    queryFn: () =>
      searching ? call('token.search', { keyword, token: key }) : call('token.list', { p: page - 1, size }),
  });
  return { url, paging, rows: list.data ?? [], list, searching };
}
