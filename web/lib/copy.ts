/** Copying: a browser that does not allow it shows the text instead, to be copied by hand. */
import i18next from 'i18next';
import { useSyncExternalStore } from 'react';
import { toast } from 'sonner';
import { copyText } from './format.ts';

let uncopied: string | null = null;
const listeners = new Set<() => void>();

/** @param text null = it has been read. */
export function showByHand(text: string | null): void {
  uncopied = text;
  for (const listener of listeners) listener();
}

export async function copyOrShow(text: string): Promise<void> {
  if (await copyText(text)) toast.success(i18next.t('app.copied'));
  else showByHand(text);
}

export const useUncopied = (): string | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => uncopied,
  );
