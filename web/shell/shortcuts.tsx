/** Single keys for those who never leave the keyboard; `?` lists them, a switch turns them off (WCAG 2.1.4). */
import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Place } from './nav.ts';

const offKey = 'shortcuts-off';
const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox]), textarea, select'));
const covered = (): boolean => document.querySelector('[role=dialog]') !== null;

/** Elements tell which key presses them: `data-key="n"` on the page's main action, `data-key="/"` on its search. */
function press(key: string): boolean {
  const target = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (target === null) return false;
  if (target.matches('input')) target.focus();
  else target.click();
  return true;
}

export interface ShortcutsProps {
  readonly places: readonly Place[];
  readonly onPalette: () => void;
}

export function Shortcuts({ places, onPalette }: ShortcutsProps) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  const [off, setOff] = useState(() => localStorage.getItem(offKey) === 'true');
  const jumping = useRef(false);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        onPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || covered()) return;
      if (event.key === '?') {
        setOpen(true);
        return;
      }
      if (off) return;
      if (jumping.current) {
        jumping.current = false;
        const place = places.find(({ jump }) => jump === event.key);
        if (place !== undefined) navigate(place.to);
        return;
      }
      if (event.key === 'g') {
        jumping.current = true;
        setTimeout(() => {
          jumping.current = false;
        }, 1500);
        return;
      }
      if ((event.key === '/' || event.key === 'n') && press(event.key)) event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [off, places, navigate, onPalette]);

  if (!open) return null;
  const rows: readonly (readonly [string, string])[] = [
    ['Ctrl K', t('palette.open')],
    ['?', t('shortcuts.title')],
    ['/', t('shortcuts.search')],
    ['n', t('shortcuts.new')],
    ['j k', t('shortcuts.rows')],
    ['x', t('shortcuts.select')],
    ...places.flatMap(({ jump, label }) => (jump === undefined ? [] : [[`g ${jump}`, t(label)] as const])),
  ];
  return (
    <Dialog open onClose={() => setOpen(false)} className="relative z-30">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <div className="fixed inset-0 grid place-items-center p-4">
        <DialogPanel className="max-h-full w-[420px] max-w-full overflow-auto rounded-3 border border-line-strong bg-raised p-5 shadow-pop">
          <DialogTitle className="mb-3 font-semibold">{t('shortcuts.title')}</DialogTitle>
          <dl className="grid grid-cols-[80px_1fr] gap-y-1.5">
            {rows.map(([keys, what]) => (
              <div key={keys} className="contents">
                <dt className="flex gap-1">
                  {keys.split(' ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd className="text-ink-2">{what}</dd>
              </div>
            ))}
          </dl>
          <label className="mt-4 flex items-center gap-2 text-ink-2">
            <input
              type="checkbox"
              className="size-4 accent-(--accent)"
              checked={!off}
              onChange={(event) => {
                setOff(!event.target.checked);
                localStorage.setItem(offKey, String(!event.target.checked));
              }}
            />
            {t('shortcuts.on')}
          </label>
        </DialogPanel>
      </div>
    </Dialog>
  );
}
