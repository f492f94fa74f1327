/** Whether the console stands on a phone: one layout is mounted at a time. */
import { useSyncExternalStore } from 'react';

const query = () => matchMedia('(width < 600px)');

export const useNarrow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      const list = query();
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    () => query().matches,
    () => false,
  );
