/** Who stands behind a channel: found by name or by how a key begins, or picked from the catalogue. */

import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { textIn } from '../../../server/contract/language.ts';
import { channelColor } from '../../components/channel-color.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { isApiKey, providerOf } from '../../lib/key-provider.ts';
import type { ChannelType } from './channel-form.ts';

export interface ProviderPickerProps {
  readonly types: readonly ChannelType[];
  readonly value: ChannelType | undefined;
  /** @param key what was pasted to find it; '' = none. */
  readonly onChange: (type: ChannelType, key: string) => void;
}

/** So many are offered before anything is typed: what most people look for. */
const maxCommon = 24;

const Mark = ({ type, name }: { readonly type: number; readonly name: string }) => (
  <span
    aria-hidden="true"
    className="grid size-4 flex-none place-items-center rounded-[2px] text-[10px] leading-none font-bold text-white"
    style={{ background: channelColor(type) }}
  >
    {name.slice(0, 1)}
  </span>
);

export function ProviderPicker({ types, value, onChange }: ProviderPickerProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(value === undefined);
  const [search, setSearch] = useState('');
  const [all, setAll] = useState(false);
  /** Enter came before the catalogue did. */
  const [pickFirst, setPickFirst] = useState(false);
  const language = currentLanguage();
  /** Masked, so that it cannot be read over a shoulder. */
  const key = isApiKey(search) ? search.trim() : '';
  const words = key === '' ? search.trim().toLowerCase() : '';
  const found = types.filter(({ zh, en, slug }) => `${zh} ${en} ${slug}`.toLowerCase().includes(words));
  const pick = (type: ChannelType, pasted = key) => {
    setOpen(false);
    setSearch('');
    setPickFirst(false);
    onChange(type, pasted);
  };
  const type = (text: string) => {
    setSearch(text);
    setPickFirst(false);
    const guessed = isApiKey(text) ? providerOf(text, types) : undefined;
    if (guessed !== undefined) pick(guessed, text.trim());
  };
  const [first] = found;
  const shown = all || words !== '' ? found : found.slice(0, maxCommon);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was typed is judged once, when there is something to find.
  useEffect(() => {
    if (pickFirst && first !== undefined) pick(first);
  }, [types]);
  if (!open && value !== undefined)
    return (
      <div className="mb-4 grid gap-1">
        <span className="text-[12px] leading-4 font-medium text-ink-2">{t('channels.type')}</span>
        <button type="button" className="field flex items-center gap-2 text-left" onClick={() => setOpen(true)}>
          <Mark type={value.type} name={textIn(value, language)} />
          <span className="flex-1 truncate">{textIn(value, language)}</span>
          <span className="text-[12px] text-ink-3">{t('channels.otherProvider')}</span>
        </button>
      </div>
    );
  return (
    <section className="mb-4 grid gap-2" aria-label={t('channels.pickProvider')}>
      <p className="text-ink-2">{t('channels.pickProvider')}</p>
      <input
        type={key === '' ? 'search' : 'password'}
        autoComplete="off"
        className="field"
        data-autofocus
        placeholder={t('channels.searchProviders', { count: types.length })}
        aria-label={t('channels.searchProviders', { count: types.length })}
        value={search}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          if (key !== '') return;
          if (first !== undefined) pick(first);
          else setPickFirst(types.length === 0);
        }}
      />
      <p role="status" className="text-[12px] text-ink-3">
        {key !== ''
          ? t('channels.keyUnknown')
          : types.length > 0 && first === undefined
            ? t('channels.noProvider')
            : t('channels.pasteKey')}
      </p>
      <ul className="grid grid-cols-2 gap-1">
        {shown.map((type) => (
          <li key={type.type}>
            <button
              type="button"
              aria-pressed={type === value}
              className="menu-item h-full border border-line hover:bg-hover max-sm:min-h-11"
              onClick={() => pick(type)}
            >
              <span className="min-w-0 py-1 leading-4 wrap-anywhere">{textIn(type, language)}</span>
            </button>
          </li>
        ))}
      </ul>
      {shown.length === found.length ? null : (
        <button type="button" className="button justify-self-start" onClick={() => setAll(true)}>
          {t('channels.moreProviders', { count: found.length - shown.length })}
        </button>
      )}
    </section>
  );
}
