/** Copying: a browser that does not allow it shows the text instead, to be copied by hand. */
import i18next from 'i18next';
import { useSyncExternalStore } from 'react';
import { toast } from 'sonner';
import { copyText } from './format.ts';

let pendingText: string | null = null;
const listeners = new Set<() => void>();

/** @param text null = it has been read. */
export function showText(text: string | null): void {
  pendingText = text;
  for (const listener of listeners) listener();
}

const maxLength = 48;

/** Shows what was copied, a key only by its ends: it might be read over a shoulder. */
function notifyCopied(text: string): void {
  const isKey = /^(sk-|gat_|gas_)[\w-]{16,}$/.test(text);
  const line = text.replaceAll('\n', ' ');
  const description = isKey
    ? `${text.slice(0, 7)}…${text.slice(-4)}`
    : line.length > maxLength
      ? `${line.slice(0, maxLength)}…`
      : line;
  toast.success(i18next.t('app.copied'), { description });
}

export async function copyOrShow(text: string): Promise<void> {
  if (await copyText(text)) notifyCopied(text);
  else showText(text);
}

export const usePendingText = (): string | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pendingText,
  );
