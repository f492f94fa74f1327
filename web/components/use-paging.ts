/** Where one is in a list, kept in the address. */
import { useUrl } from '../lib/url.ts';
import { type PagerProps, rememberedSize } from './pager.tsx';

export interface Paging extends Pick<PagerProps, 'onPage'> {
  readonly page: number;
  readonly size: number;
  readonly onSize: (size: number | null) => void;
}

export function usePaging(): Paging {
  const url = useUrl();
  return {
    page: url.page,
    size: Number(url.get('size')) || rememberedSize(),
    onPage: (page) => url.set('p', String(page)),
    onSize: (size) => url.set('size', String(size)),
  };
}
