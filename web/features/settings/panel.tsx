/** One panel of options with a save of its own. */
import { memo, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { currentLanguage } from '../../lib/i18n.ts';
import { useUser } from '../../lib/session.ts';
import { PanelExtra } from './extras/panel-extra.tsx';
import { OptionField } from './option-field.tsx';
import { isSwitch, isWide } from './option-input.tsx';
import type { Options } from './use-options.ts';

export interface PanelProps {
  /** For the index. */
  readonly id?: string;
  readonly title: string;
  readonly keys: readonly OptionKey[];
  readonly options: Options;
  /** Shows keys and defaults beside the options. */
  readonly showKey?: boolean;
  /** A card of its own; inside of one; or a line of one, opened to be set up. */
  readonly place?: 'card' | 'inside' | 'row';
  readonly onSaved?: () => void;
}

/** Short fields, texts and maps, switches: each kind stands in rows of its own, in the order in which the catalogue has the first of each. */
const sideOf = (key: OptionKey): string => (isSwitch(key) ? 'switch' : isWide(key) ? 'wide' : 'short');

/** So many fields stand two in a row of a wide window, the others three. */
const halves: ReadonlySet<number> = new Set([2, 4]);

const frames = { card: 'rounded-3 border border-line bg-surface', inside: '', row: 'border-t border-line' } as const;

/** A switch that may be on only when something else is filled in. */
export const needsMore = (key: OptionKey): boolean => optionRow(key).needs !== null;

/** Rendered again when its options are, not while something is searched for. */
export const Panel = memo(function Panel(props: PanelProps) {
  const { id, title, keys, options, place = 'card', showKey = false, onSaved } = props;
  const { t } = useTranslation();
  const language = currentLanguage();
  const role = useUser()?.role ?? 0;
  const [confirm, setConfirm] = useState<OptionKey | null>(null);
  const { stored, changed, errors, valueFor, shownFor } = options;
  const changes = keys.filter((key) => changed.includes(key)).length;
  const { change: put } = options;
  const change = useCallback(
    (key: OptionKey, value: string) => (optionRow(key).confirm?.value === value ? setConfirm(key) : put(key, value)),
    [put],
  );
  const groups = [...Map.groupBy(keys, sideOf).values()];
  // A switch of another panel may stand before its own.
  const panel = optionRow(keys.at(-1) ?? 'Notice').panel;
  const master = keys.find(needsMore);
  const note = master === undefined ? '' : textIn(optionRow(master).help, language);
  const isOn = master !== undefined && valueFor(master) === 'true';
  const isEmpty = keys.every((key) => isSwitch(key) || (shownFor(key) === '' && stored.get(key)?.is_set !== true));
  const [opened, setOpened] = useState(false);
  const row = place === 'row';
  const mayFold = row && changes === 0 && keys.every((key) => errors[key] === undefined);
  const isFolded = mayFold && !opened;
  return (
    <CheckedForm id={id} onSubmit={() => options.save(keys)} className={`scroll-mt-4 ${frames[place]}`}>
      <header
        className={`flex items-center gap-3 px-4 ${row ? 'min-h-11 py-1.5' : 'py-2.5 max-sm:py-1'} ${isFolded || row ? '' : 'border-b border-line'}`}
      >
        <h2 className={row ? 'w-52 min-w-0 font-medium max-sm:w-auto max-sm:flex-1' : 'flex-1 font-semibold'}>
          {title}
        </h2>
        {master === undefined || showKey ? null : (
          <span className={`${isOn ? 'status' : 'status status-off'} ${row ? 'sm:w-20' : ''}`}>
            {t(isOn ? 'settings.on' : 'settings.off')}
          </span>
        )}
        {row ? (
          <span className="min-w-0 flex-1 truncate text-[12px] text-ink-3 max-sm:hidden" title={isFolded ? note : ''}>
            {isFolded ? <span className="max-lg:hidden">{note}</span> : null}
          </span>
        ) : null}
        {mayFold ? (
          <button
            type="button"
            className={`button ${isFolded ? '' : 'button-ghost'}`}
            aria-expanded={!isFolded}
            aria-label={
              isFolded
                ? t(isEmpty ? 'settings.setUpNamed' : 'settings.editNamed', { name: title })
                : `${t('app.close')}: ${title}`
            }
            onClick={() => setOpened(isFolded)}
          >
            {t(isFolded ? (isEmpty ? 'settings.setUp' : 'app.edit') : 'app.close')}
          </button>
        ) : null}
        {isFolded ? null : (
          <button type="submit" className={`button ${changes === 0 ? '' : 'button-primary'}`}>
            {t('app.save')}
          </button>
        )}
      </header>
      {groups.map((group, at) => (
        <div
          key={group[0]}
          hidden={isFolded}
          className={`${isFolded ? '' : 'grid'} grid-cols-[minmax(0,1fr)] gap-x-6 px-4 pt-3 sm:grid-cols-[repeat(2,minmax(0,1fr))] xl:grid-cols-[repeat(6,minmax(0,1fr))] ${at > 0 && (group.some(isSwitch) || groups[at - 1]?.some(isSwitch)) ? 'border-t border-line' : ''}`}
        >
          {group.map((key) => {
            const { dependsOn, role: needed, secret, fallback } = optionRow(key);
            const isSet = stored.get(key)?.is_set ?? false;
            return (
              <OptionField
                key={key}
                option={key}
                language={language}
                value={shownFor(key)}
                isSet={isSet}
                locked={needed > role || (dependsOn !== null && valueFor(dependsOn as OptionKey) !== 'true')}
                rootOnly={needed > role}
                differs={secret ? isSet : valueFor(key) !== fallback}
                draft={changed.includes(key)}
                showKey={showKey}
                half={isWide(key) || isSwitch(key) || halves.has(group.length)}
                error={errors[key]}
                onChange={change}
                onReset={options.reset}
              />
            );
          })}
        </div>
      ))}
      {onSaved === undefined || isFolded ? null : <PanelExtra panel={panel} options={options} onSaved={onSaved} />}
      {confirm === null ? null : (
        <Confirm
          title={textIn(optionRow(confirm).label, language)}
          text={textIn(optionRow(confirm).confirm ?? { zh: '', en: '' }, language)}
          action={t('settings.confirm')}
          onClose={() => setConfirm(null)}
          onConfirm={() => {
            options.change(confirm, optionRow(confirm).confirm?.value ?? '');
            setConfirm(null);
          }}
        />
      )}
    </CheckedForm>
  );
});
