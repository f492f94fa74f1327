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

/** On a phone. */
export const useNarrow = (): boolean => useMedia('(width < 600px)');
/** Room for something beside a table. */
export const useWide = (): boolean => useMedia('(width >= 1280px)');
