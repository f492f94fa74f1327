/** The channels that alone serve a key. Administrators choose them; its owner sees how many there are. */
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NameChips } from '../../components/name-chips.tsx';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';

/** So many are offered; a site may have thousands, which are found by their names. */
const maxShown = 50;

interface ChannelsFieldProps {
  /** Ids; empty = all. */
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
}

export function ChannelsField({ selected, onChange }: ChannelsFieldProps) {
  const { t } = useTranslation();
  const user = useUser();
  const [open, setOpen] = useState(false);
  const said = selected.length === 0 ? t('tokens.anyChannel') : selected.map((id) => `#${id}`).join(', ');
  if (!isAdmin(user))
    return selected.length === 0 ? null : (
      <p className="mb-4 text-ink-2">{t('app.named', { name: t('tokens.channels'), value: said })}</p>
    );
  return (
    <details className="mb-4 open:col-span-full" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer text-ink-2">
        {t('app.named', { name: t('tokens.channels'), value: said })}
      </summary>
      {open ? <Choice selected={selected} onChange={onChange} /> : null}
    </details>
  );
}

function Choice({ selected, onChange }: ChannelsFieldProps) {
  const { t } = useTranslation();
  const id = useId();
  const [typed, setTyped] = useState('');
  const all = useOptionalRead({
    queryKey: ['channels', '', '', '', true],
    queryFn: () => call('channel.search', { keyword: '', group: '', model: '', id_sort: true }),
  }).data;
  const needle = typed.trim().toLowerCase();
  const found = (all ?? []).filter((one) => one.name.toLowerCase().includes(needle) || String(one.id) === needle);
  const toggle = (one: string) =>
    onChange(
      selected.includes(one)
        ? selected.filter((other) => other !== one)
        : [...selected, one].sort((a, b) => Number(a) - Number(b)),
    );
  const take = () => {
    const [only] = found;
    if (found.length === 1 && only !== undefined && !selected.includes(String(only.id))) toggle(String(only.id));
    setTyped('');
  };
  return (
    <div className="mt-3 grid gap-1">
      <label htmlFor={id} className="text-[12px] leading-4 font-medium text-ink-2">
        {t('tokens.findChannel')}
      </label>
      <NameChips
        id={id}
        className="flex"
        label={t('tokens.channels')}
        names={selected}
        removeLabel={(one) => t('tokens.withoutChannel', { id: one })}
        aria-describedby={`${id}-note`}
        typed={typed}
        onType={setTyped}
        onTake={take}
        takesOnBlur={false}
        onRemove={toggle}
      />
      <p id={`${id}-note`} className="text-[12px] leading-4 text-ink-3">
        {t('tokens.channelsHelp')}
      </p>
      {found.length === 0 ? null : (
        <ul className="max-h-[168px] overflow-y-auto rounded-1 border border-line" aria-label={t('tokens.channels')}>
          {found.slice(0, maxShown).map((channel) => (
            <li key={channel.id} className="border-b border-line last:border-b-0">
              <label className="flex min-h-7 cursor-pointer items-center gap-2 px-2 max-sm:min-h-11">
                <input
                  type="checkbox"
                  className="size-4 flex-none accent-(--accent)"
                  checked={selected.includes(String(channel.id))}
                  onChange={() => toggle(String(channel.id))}
                />
                <span className="min-w-0 flex-1 truncate">{channel.name}</span>
                <span className="text-[12px] text-ink-3">#{channel.id}</span>
              </label>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
