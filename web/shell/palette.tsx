/** Ctrl/Cmd-K: places, things by name or id, actions; what was used last comes first. */
import { Combobox, ComboboxInput, ComboboxOption, ComboboxOptions, Dialog, DialogPanel } from '@headlessui/react';
import { useDeferredValue, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../server/contract/entities.ts';
import { Icon } from '../components/icon.tsx';
import { storedName } from '../lib/base-path.ts';
import { isAdmin } from '../lib/session.ts';
import { wordScore } from '../lib/word-search.ts';
import type { NavItem } from './nav.ts';
import { type Entry, useFixedEntries, useFoundEntries, useIndexedEntries } from './palette-entries.ts';

const recentKey = storedName('palette-recent');
const recent = (): string[] => {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(recentKey) ?? '[]');
    return Array.isArray(list) ? list.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
};

const settleMs = 150;
/** What was typed, once nothing more has been for a moment: the server is not asked for every letter. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export interface PaletteProps {
  readonly user: User;
  readonly items: readonly NavItem[];
  readonly onClose: () => void;
}

export function Palette({ user, items, onClose }: PaletteProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const needle = useDeferredValue(text.trim().toLowerCase());
  const fixed = useFixedEntries(user, items);
  const found = useFoundEntries(isAdmin(user), useSettled(needle));
  const indexed = useIndexedEntries(isAdmin(user), useSettled(needle));
  const last = recent();
  const rank = (entry: Entry): number => (last.includes(entry.id) ? last.indexOf(entry.id) : last.length);
  const visible = [
    ...fixed
      .filter((entry) => needle === '' || wordScore(needle, `${entry.text} ${entry.id}`) > 0)
      .toSorted((one, other) => rank(one) - rank(other)),
    ...found,
    ...indexed,
  ];
  const select = (entry: Entry | null) => {
    if (entry === null) return;
    localStorage.setItem(recentKey, JSON.stringify([entry.id, ...last.filter((id) => id !== entry.id)].slice(0, 5)));
    onClose();
    entry.run();
  };

  return (
    <Dialog open onClose={onClose} className="relative z-40">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <DialogPanel
        aria-label={t('palette.open')}
        className="fixed inset-x-4 top-[12vh] mx-auto flex max-h-[60vh] max-w-xl flex-col overflow-hidden rounded-3 border border-line-strong bg-raised shadow-pop"
      >
        <Combobox<Entry | null> immediate value={null} onChange={select}>
          <div className="flex h-11 flex-none items-center gap-2 border-b border-line px-3 text-ink-3">
            <Icon name="search" />
            <ComboboxInput
              autoFocus
              className="h-full flex-1 bg-transparent text-ink-1 outline-none"
              placeholder={t('palette.hint')}
              aria-label={t('palette.hint')}
              autoComplete="off"
              // The list would take the first Escape for itself.
              onKeyDownCapture={(event) => {
                if (event.key === 'Escape') onClose();
              }}
              onChange={(event) => setText(event.target.value)}
            />
            <kbd>Esc</kbd>
          </div>
          <ComboboxOptions static className="overflow-auto p-1 outline-none">
            {visible.map((entry) => (
              <ComboboxOption
                key={entry.id}
                value={entry}
                className="flex h-9 items-center gap-2.5 rounded-2 px-2 text-ink-1 data-focus:bg-hover"
              >
                <span className="text-ink-3">
                  <Icon name={entry.icon} />
                </span>
                <span className="truncate">{entry.text}</span>
                <span className="ml-auto pl-4 text-[11px] whitespace-nowrap text-ink-3">{entry.kind}</span>
              </ComboboxOption>
            ))}
          </ComboboxOptions>
          {visible.length === 0 ? <p className="px-4 pb-4 text-ink-2">{t('palette.none')}</p> : null}
        </Combobox>
      </DialogPanel>
    </Dialog>
  );
}
