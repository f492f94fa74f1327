/** Models that a provider offers, with what they cost here: picked one by one, or all that are found. */
import { Fragment, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../../components/icon.tsx';
import { call } from '../../lib/api.ts';
import { dollarText, sizeText } from '../../lib/currency.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { familiesOf } from './model-list.ts';

export interface ModelPickerProps {
  readonly models: readonly string[];
  readonly selected: readonly string[];
  /** Those whose names have it. */
  readonly search: string;
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
  readonly onChange: (selected: readonly string[]) => void;
}

/** The server says no more of names at once. */
const maxNames = 2000;

export function ModelPicker({ models, selected, search, open, onOpen, onChange }: ModelPickerProps) {
  const { t } = useTranslation();
  const latest = useRef(selected);
  latest.current = selected;
  // The chosen ones lead when the list is opened; a tick moves nothing.
  const names = useMemo(() => {
    const first = new Set(latest.current);
    return [...models.filter((name) => first.has(name)), ...models.filter((name) => !first.has(name))].slice(
      0,
      maxNames,
    );
  }, [models]);
  const details = useOptionalRead({
    queryKey: ['model-facts', names.join()],
    queryFn: () => call('ratio.facts', { models: names }),
    enabled: open && names.length > 0,
    staleTime: 60_000,
  }).data;
  const known = new Map(details?.map((one) => [one.model, one]));
  const has = new Set(selected);
  const found = names.filter((name) => name.toLowerCase().includes(search.trim().toLowerCase()));
  const pick = (some: readonly string[], on: boolean) =>
    onChange(on ? [...new Set([...selected, ...some])] : selected.filter((name) => !some.includes(name)));
  // With the chosen ones first in each.
  const families = familiesOf(found);
  const all = found.length > 0 && found.every((name) => has.has(name));
  const row = (name: string) => {
    const one = known.get(name);
    return (
      <li key={name}>
        <label className="flex min-h-7 items-center gap-2 px-2 hover:bg-hover max-sm:min-h-11">
          <input
            type="checkbox"
            className="size-4 flex-none accent-(--accent)"
            checked={has.has(name)}
            onChange={(event) => pick([name], event.target.checked)}
          />
          <span className="min-w-0 flex-1 truncate font-mono text-[12px]" title={name}>
            {name}
          </span>
          <span className="text-[12px] text-ink-3">{one?.context == null ? '' : sizeText(one.context)}</span>
          <span className="min-w-24 text-right text-[12px] text-ink-2">
            {one === undefined ? (
              ''
            ) : one.per_call !== null ? (
              t('pricing.each', { price: dollarText(one.per_call) })
            ) : one.input === null ? (
              <span className="text-warning">{t('channels.noPrice')}</span>
            ) : (
              `$${dollarText(one.input)} / $${dollarText(one.output)}`
            )}
          </span>
        </label>
      </li>
    );
  };
  if (names.length === 0) return null;
  return (
    <fieldset className="rounded-2 border border-line">
      <legend className="sr-only">{t('channels.offered')}</legend>
      <div className="flex min-h-9 items-center gap-2 pr-2">
        <button
          type="button"
          className="flex min-h-9 flex-1 items-center gap-2 pl-2 text-left text-ink-2"
          aria-expanded={open}
          onClick={() => onOpen(!open)}
        >
          <span className={open ? '' : '-rotate-90'}>
            <Icon name="down" />
          </span>
          {t('channels.offered')}
          <span className="text-[12px] text-ink-3">
            {t('channels.pickedOf', { chosen: names.filter((name) => has.has(name)).length, count: names.length })}
          </span>
        </button>
        {open ? (
          <button type="button" className="button" onClick={() => pick(found, !all)}>
            {all ? t('channels.pickNone') : t('channels.pickAll')}
          </button>
        ) : null}
      </div>
      {open ? (
        <ul className="max-h-60 overflow-auto border-t border-line py-1">
          {families.map((family) => (
            <Fragment key={family.name}>
              {families.length < 2 ? null : (
                <li className="sticky -top-1 z-1 bg-sunken">
                  <label className="flex min-h-7 items-center gap-2 px-2 text-[12px] text-ink-2 max-sm:min-h-11">
                    <input
                      type="checkbox"
                      className="size-4 flex-none accent-(--accent)"
                      checked={family.models.every((name) => has.has(name))}
                      onChange={(event) => pick(family.models, event.target.checked)}
                    />
                    <span className={family.name === '' ? 'font-medium' : 'font-mono font-medium'}>
                      {family.name === '' ? t('channels.otherFamilies') : family.name}
                    </span>
                    <span className="text-ink-3">
                      {t('channels.pickedOf', {
                        chosen: family.models.filter((name) => has.has(name)).length,
                        count: family.models.length,
                      })}
                    </span>
                  </label>
                </li>
              )}
              {family.models.map(row)}
            </Fragment>
          ))}
        </ul>
      ) : null}
    </fieldset>
  );
}
