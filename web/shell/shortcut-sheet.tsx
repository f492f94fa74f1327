/** The list of keys, and the switch that turns single ones off. */
import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import { useTranslation } from 'react-i18next';
import type { NavItem } from './nav.ts';

export interface ShortcutSheetProps {
  readonly items: readonly NavItem[];
  readonly off: boolean;
  readonly onOff: (off: boolean) => void;
  readonly onClose: () => void;
}

export function ShortcutSheet({ items, off, onOff, onClose }: ShortcutSheetProps) {
  const { t } = useTranslation();
  const rows: readonly (readonly [string, string])[] = [
    ['Ctrl K', t('palette.open')],
    ['?', t('shortcuts.title')],
    ['/', t('shortcuts.search')],
    ['n', t('shortcuts.new')],
    ['j k', t('shortcuts.rows')],
    ['x', t('shortcuts.select')],
    ['b', t('shortcuts.bulk')],
    ...items.flatMap(({ key, label }) => (key === undefined ? [] : [[`g ${key}`, t(label)] as const])),
  ];
  return (
    <Dialog open onClose={onClose} className="relative z-30">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <div className="fixed inset-0 grid grid-cols-1 place-items-center p-4">
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
              onChange={(event) => onOff(!event.target.checked)}
            />
            {t('shortcuts.on')}
          </label>
        </DialogPanel>
      </div>
    </Dialog>
  );
}
