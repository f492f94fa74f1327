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

const shownLength = 48;

/** What was copied is told, a key only by its ends: somebody may be looking over the shoulder. */
export function tellCopied(text: string): void {
  const isKey = /^(sk-|gat_)[\w-]{16,}$/.test(text);
  const line = text.replaceAll('\n', ' ');
  const description = isKey
    ? `${text.slice(0, 7)}…${text.slice(-4)}`
    : line.length > shownLength
      ? `${line.slice(0, shownLength)}…`
      : line;
  toast.success(i18next.t('app.copied'), { description });
}

export async function copyOrShow(text: string): Promise<void> {
  if (await copyText(text)) tellCopied(text);
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
