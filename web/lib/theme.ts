/** Light or dark; theme.js sets it before the first paint, this changes it. */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
const isDark = (): boolean => document.documentElement.dataset.theme === 'dark';

export function toggleTheme(): void {
  const next = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  localStorage.setItem('theme-mode', next);
  for (const listener of listeners) listener();
}

/** Where there is no document, a page is light. */
const isDarkWithout = (): boolean => false;

export const useDark = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isDark,
    isDarkWithout,
  );
