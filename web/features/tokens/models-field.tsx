/** Models are ticked, with what they cost and how long they take; others may be typed. */
import { memo, useCallback, useDeferredValue, useId, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSubmitted } from '../../components/checked-form.tsx';
import { NameChips } from '../../components/name-chips.tsx';
import { Segment } from '../../components/segment.tsx';
import { duration } from '../../lib/format.ts';
import type { ModelDetails } from './model-details.ts';

/** So many are in sight when the form opens; a site may have hundreds, which follow. */
const atFirst = 8;

interface ModelProps {
  readonly model: ModelDetails;
  readonly checked: boolean;
  readonly onToggle: (name: string) => void;
  readonly unpriced: string;
}

const Model = memo(({ model: { name, price, ms }, checked, onToggle, unpriced }: ModelProps) => (
  <li className="border-b border-line last:border-b-0">
    <label className="flex min-h-7 cursor-pointer items-center gap-2 px-2 max-sm:min-h-11">
      <input
        type="checkbox"
        className="size-4 flex-none accent-(--accent)"
        checked={checked}
        onChange={() => onToggle(name)}
      />
      <span className="min-w-0 flex-1 truncate font-mono text-[12px]">{name}</span>
      <span className="text-[12px] text-ink-3">{price === '' ? unpriced : price}</span>
      <span className="w-14 text-right text-[12px] text-ink-3">
        {ms === null ? '–' : ms < 995 ? `${ms} ms` : duration(ms / 1000)}
      </span>
    </label>
  </li>
));

export interface ModelsFieldProps {
  readonly details: readonly ModelDetails[];
  /** Empty = all. */
  readonly selected: readonly string[];
  /** Stable. */
  readonly onChange: (selected: readonly string[]) => void;
}

/** Rendered again only when models change: other fields are typed into beside it. */
export const ModelsField = memo(({ details, selected, onChange }: ModelsFieldProps) => {
  const { t } = useTranslation();
  const id = useId();
  const [typed, setTyped] = useState('');
  const [only, setOnly] = useState(selected.length > 0);
  const submitted = useSubmitted();
  const limited = only || selected.length > 0;
  const missing = limited && selected.length === 0;
  const needle = typed.trim().toLowerCase();
  const found = useMemo(() => details.filter(({ name }) => name.toLowerCase().includes(needle)), [details, needle]);
  const shown = useDeferredValue(found, found.slice(0, atFirst));
  const latest = useRef(selected);
  latest.current = selected;
  const toggle = useCallback(
    (name: string) => {
      const { current } = latest;
      // Without the last one the key does not take all of them again.
      setOnly(true);
      onChange(current.includes(name) ? current.filter((one) => one !== name) : [...current, name]);
    },
    [onChange],
  );
  /** Lists are pasted, too. */
  const take = () => {
    const names = typed
      .split(/[,\s]+/)
      .map((name) => (found.length === 1 && name !== '' ? (found[0]?.name ?? name) : name))
      .filter((name) => name !== '' && !selected.includes(name));
    if (names.length > 0) onChange([...selected, ...new Set(names)]);
    setTyped('');
  };
  return (
    <div className="mb-4 grid gap-1">
      <label htmlFor={id} className="text-[12px] leading-4 font-medium text-ink-2">
        {t('tokens.models')}
        <span className="font-normal text-ink-3">
          {' · '}
          {details.length === 0
            ? t('tokens.noModels')
            : selected.length === 0
              ? t('tokens.allModels', { count: details.length })
              : t('tokens.ofModels', { chosen: selected.length, count: details.length })}
        </span>
      </label>
      <Segment
        label={t('tokens.modelChoice')}
        value={limited ? 'only' : 'every'}
        options={[
          ['every', t('tokens.everyModel')],
          ['only', t('tokens.onlyThese')],
        ]}
        onChange={(next) => {
          setOnly(next === 'only');
          if (next === 'every') onChange([]);
        }}
      />
      <NameChips
        id={id}
        className={limited ? 'flex' : 'hidden'}
        label={t('tokens.onlyThese')}
        names={selected}
        removeLabel={(name) => t('tokens.withoutModel', { name })}
        placeholder={t('tokens.searchModels')}
        aria-describedby={missing && submitted ? `${id}-note` : undefined}
        unreadable={missing}
        typed={typed}
        onType={setTyped}
        onTake={take}
        takesOnBlur={found.length === 0}
        onRemove={toggle}
      />
      {found.length === 0 ? null : (
        <div className={`rounded-1 border border-line ${limited ? '' : 'hidden'}`}>
          <p
            aria-hidden="true"
            className="flex h-6 items-center gap-2 border-b border-line bg-sunken px-2 text-[11px] text-ink-3"
          >
            <span className="flex-1 pl-6">{t('tokens.models')}</span>
            <span>{t('tokens.pricesHead')}</span>
            <span className="w-14 text-right">{t('tokens.medianHead')}</span>
          </p>
          <ul className="max-h-[168px] overflow-y-auto max-sm:max-h-[180px]" aria-label={t('tokens.models')}>
            {shown.map((model) => (
              <Model
                key={model.name}
                model={model}
                checked={selected.includes(model.name)}
                onToggle={toggle}
                unpriced={t('tokens.unpriced')}
              />
            ))}
          </ul>
        </div>
      )}
      {missing && submitted ? (
        <p id={`${id}-note`} className="text-[12px] leading-4 text-danger">
          {t('tokens.modelsMissing')}
        </p>
      ) : null}
    </div>
  );
});
