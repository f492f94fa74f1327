/** The title of the tab: how many channels need attention, the page, the site. */
import { useEffect } from 'react';

const parts = { count: 0, page: '', site: '' };

function show(change: Partial<typeof parts>): void {
  Object.assign(parts, change);
  const { count, page, site } = parts;
  const named = [page, site].filter((part) => part !== '').join(' · ');
  if (named !== '') document.title = count > 0 ? `(${count}) ${named}` : named;
}

/** @param page '' = the site's name alone. */
export function usePageTitle(page: string): void {
  useEffect(() => {
    show({ page });
    return () => show({ page: '' });
  }, [page]);
}

export function useSiteTitle(site: string | undefined): void {
  useEffect(() => {
    if (site) show({ site });
  }, [site]);
}

export function useTitleCount(count: number): void {
  useEffect(() => show({ count }), [count]);
}
