/** How wide the console stands: one layout is mounted at a time. */
import { useSyncExternalStore } from 'react';

const useMedia = (query: string): boolean =>
  useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
    () => false,
  );

/** How wide a window a table is laid out for; on a phone rows are cards, which take no part in it. */
export function useRoom(): number {
  const phone = useNarrow();
  const below = [
    useMedia('(width < 720px)'),
    useMedia('(width < 1024px)'),
    useMedia('(width < 1280px)'),
    useMedia('(width < 1440px)'),
    useMedia('(width < 1600px)'),
  ];
  const at = phone ? -1 : below.indexOf(true);
  return at < 0 ? Number.POSITIVE_INFINITY : ([0, 720, 1024, 1280, 1440][at] ?? 0);
}
/** A window in which the sidebar is folded, unless its reader unfolds it. */
export const useTablet = (): boolean => useMedia('(600px <= width < 1100px)');
/** On a phone. */
export const useNarrow = (): boolean => useMedia('(width < 600px)');
/** Room for something beside a table. */
export const useWide = (): boolean => useMedia('(width >= 1280px)');
/** Room for a sheet beside the list that it belongs to. */
export const useBeside = (): boolean => useMedia('(width >= 1400px)');
