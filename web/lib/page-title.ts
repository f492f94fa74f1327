/** The title of the tab: how many channels need attention, the page, the site. The page's own is in the breadcrumb, too. */
import { useEffect, useSyncExternalStore } from 'react';

const parts = { count: 0, page: '', site: '' };
const listeners = new Set<() => void>();

function show(change: Partial<typeof parts>): void {
  Object.assign(parts, change);
  const { count, page, site } = parts;
  const named = [page, site].filter((part) => part !== '').join(' · ');
  for (const listener of listeners) listener();
  if (named !== '') document.title = count > 0 ? `(${count}) ${named}` : named;
}

/** Pages, and what is open above them: the last names the tab. */
const opened: { readonly page: string }[] = [];

/** @param page '' = the site's name alone. */
export function usePageTitle(page: string): void {
  useEffect(() => {
    const own = { page };
    opened.push(own);
    show({ page });
    return () => {
      opened.splice(opened.indexOf(own), 1);
      show({ page: opened.at(-1)?.page ?? '' });
    };
  }, [page]);
}

/** What the page that is shown calls itself. */
export const useShownPage = (): string =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => parts.page,
    () => parts.page,
  );

export function useSiteTitle(site: string | undefined): void {
  useEffect(() => {
    if (site) show({ site });
  }, [site]);
}

export function useTitleCount(count: number): void {
  useEffect(() => show({ count }), [count]);
}
