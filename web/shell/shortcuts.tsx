/** Single keys for those who never leave the keyboard; `?` lists them, a switch turns them off (WCAG 2.1.4). */
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { NavItem } from './nav.ts';

const ShortcutSheet = lazy(async () => ({ default: (await import('./shortcut-sheet.tsx')).ShortcutSheet }));
const offKey = 'shortcuts-off';
const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.closest('[role=listbox], [role=menu]') !== null ||
    target.matches('input:not([type=checkbox]), textarea, select'));
const covered = (): boolean => document.querySelector('[role=dialog]') !== null;

/** Elements name the key that presses them: `data-key="n"` on the page's main action, `data-key="/"` on its search. */
function press(key: string): boolean {
  const target = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (target === null) return false;
  if (target.matches('input')) target.focus();
  else target.click();
  return true;
}

export interface ShortcutsProps {
  readonly items: readonly NavItem[];
  readonly onPalette: () => void;
}

export function Shortcuts({ items, onPalette }: ShortcutsProps) {
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  const [off, setOff] = useState(() => localStorage.getItem(offKey) === 'true');
  const waiting = useRef(false);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        onPalette();
        return;
      }
      // The keys of the page are its own again.
      if (event.key === 'Escape' && event.target instanceof HTMLElement && event.target.matches('input[type=search]'))
        event.target.blur();
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || covered()) return;
      if (event.key === '?') {
        setOpen(true);
        return;
      }
      if (off) return;
      if (waiting.current) {
        waiting.current = false;
        const item = items.find(({ key }) => key === event.key);
        if (item !== undefined) navigate(item.to);
        return;
      }
      if (event.key === 'g') {
        waiting.current = true;
        setTimeout(() => {
          waiting.current = false;
        }, 1500);
        return;
      }
      if ((event.key === '/' || event.key === 'n') && press(event.key)) event.preventDefault();
      if (event.key === 'b') document.querySelector<HTMLElement>('[data-bulk] button')?.focus();
      // Inside of a table its rows know what to do.
      if ((event.key === 'j' || event.key === 'k') && !event.defaultPrevented)
        document.querySelector<HTMLElement>('main tbody tr[data-row]')?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [off, items, navigate, onPalette]);

  if (!open) return null;
  return (
    <Suspense>
      <ShortcutSheet
        items={items}
        off={off}
        onOff={(next) => {
          setOff(next);
          localStorage.setItem(offKey, String(next));
        }}
        onClose={() => setOpen(false)}
      />
    </Suspense>
  );
}
