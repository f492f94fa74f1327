/** What narrows a page, as chips: each is in the address, can be changed, and goes with a click. On a phone they wait in a sheet. */
import { Combobox, ComboboxInput, ComboboxOption, ComboboxOptions } from '@headlessui/react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNarrow } from '../lib/narrow.ts';
import { useUrl } from '../lib/url.ts';
import { TextField } from './form.tsx';
import { Icon } from './icon.tsx';
import { Sheet } from './overlay.tsx';
import { Popover } from './popover.tsx';
import { type Option, SelectField } from './select.tsx';
import { matching, SuggestField } from './suggest.tsx';

export interface Filter {
  /** In the address. */
  readonly name: string;
  readonly label: string;
  /** Values and what they are called; absent = any text. */
  readonly options?: readonly Option[];
  /** Besides the options any text may be typed. */
  readonly free?: boolean;
}

/** So many are offered each on its own; more are behind one button. */
const apart = 3;

const isFree = ({ options, free }: Filter): boolean => options === undefined || free === true;
const nameOf = ({ options = [] }: Filter, value: string): string =>
  options.find(([option]) => option === value)?.[1] ?? value;

interface ValuesProps {
  readonly filter: Filter;
  readonly value: string;
  readonly onPick: (value: string) => void;
}

/** A list that is searched by typing; what is typed is a value too, where any text is one. */
function Values({ filter, value, onPick }: ValuesProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(isFree(filter) ? nameOf(filter, value) : '');
  const found = matching(filter.options ?? [], text === nameOf(filter, value) ? '' : text);
  const own: readonly Option[] =
    isFree(filter) && text.trim() !== '' && !found.some(([, name]) => name === text.trim())
      ? [[text.trim(), text.trim()]]
      : [];
  return (
    <Combobox<string> immediate value={value} onChange={(next: string | null) => onPick(next ?? '')}>
      <ComboboxInput
        autoFocus
        className="field mb-1"
        aria-label={filter.label}
        placeholder={isFree(filter) ? t('table.typeFilter') : filter.label}
        autoComplete="off"
        displayValue={() => text}
        onChange={(event) => setText(event.target.value)}
      />
      <ComboboxOptions static className="max-h-72 overflow-auto outline-none">
        {[...own, ...found].map(([option, name]) => (
          <ComboboxOption key={option} value={option} className="group menu-item cursor-pointer">
            <span className="min-w-0 flex-1 truncate">{name}</span>
            <span className="text-accent-text not-group-data-selected:invisible">
              <Icon name="check" />
            </span>
          </ComboboxOption>
        ))}
      </ComboboxOptions>
    </Combobox>
  );
}

function Chip({ filter, value, onPick }: ValuesProps) {
  const { t } = useTranslation();
  return (
    <span className="flex h-7 max-w-72 items-center rounded-2 bg-accent-soft text-[12px]">
      <Popover
        anchor="bottom start"
        className="w-60"
        buttonClass="flex h-full min-w-0 items-center gap-1.5 pl-2"
        button={
          <>
            <span className="text-accent-text">{filter.label}</span>
            <span className="truncate">{nameOf(filter, value)}</span>
          </>
        }
      >
        {(close) => (
          <Values
            filter={filter}
            value={value}
            onPick={(next) => {
              close();
              onPick(next);
            }}
          />
        )}
      </Popover>
      <button
        type="button"
        className="grid h-full w-6 flex-none place-items-center text-accent-text"
        aria-label={t('table.removeFilter', { name: filter.label })}
        onClick={() => onPick('')}
      >
        <Icon name="close" />
      </button>
    </span>
  );
}

interface AddButtonProps {
  readonly text: string;
  readonly filters: readonly Filter[];
  readonly onPick: (name: string, value: string) => void;
}

/** Which filter, then which value of it. */
function AddFilter({ filters, onPick }: Omit<AddButtonProps, 'text'>) {
  const [selected, setSelected] = useState<Filter | undefined>(filters.length === 1 ? filters[0] : undefined);
  if (selected !== undefined)
    return <Values filter={selected} value="" onPick={(value) => onPick(selected.name, value)} />;
  return (
    <ul>
      {filters.map((filter) => (
        <li key={filter.name}>
          <button type="button" className="menu-item hover:bg-hover" onClick={() => setSelected(filter)}>
            {filter.label}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** A filter that is not set. */
function AddButton({ text, filters, onPick }: AddButtonProps) {
  return (
    <Popover
      anchor="bottom start"
      className="w-60"
      shortcut="/"
      buttonClass="flex h-7 items-center gap-1 rounded-2 border border-dashed border-line-control px-2 text-[12px] text-ink-2 hover:bg-hover"
      button={
        <>
          <Icon name="plus" />
          {text}
        </>
      }
    >
      {(close) => (
        <AddFilter
          filters={filters}
          onPick={(name, value) => {
            close();
            onPick(name, value);
          }}
        />
      )}
    </Popover>
  );
}

function FilterField({ filter, value, onPick }: ValuesProps) {
  const { t } = useTranslation();
  const { label, options } = filter;
  if (options === undefined) return <TextField label={label} value={value} onChange={onPick} />;
  if (isFree(filter)) return <SuggestField label={label} value={value} options={options} onChange={onPick} />;
  return <SelectField label={label} value={value} options={[['', t('range.all')], ...options]} onChange={onPick} />;
}

export interface FilterBarProps {
  readonly filters: readonly Filter[];
  /** Always in sight, before the chips: the range, the search. */
  readonly children?: ReactNode;
}

export function FilterBar({ filters, children }: FilterBarProps) {
  const { t } = useTranslation();
  const url = useUrl();
  const narrow = useNarrow();
  const [open, setOpen] = useState(false);
  const set = filters.filter(({ name }) => url.get(name) !== '');
  const unset = filters.filter(({ name }) => url.get(name) === '');
  const clear = () => url.put(Object.fromEntries(filters.map(({ name }) => [name, ''])));
  if (narrow)
    return (
      <>
        {children}
        <button type="button" className="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
          {t('table.filters')} {set.length === 0 ? null : set.length}
        </button>
        {open ? (
          <Sheet
            title={t('table.filters')}
            onClose={() => setOpen(false)}
            footer={
              <>
                <button type="button" className="button" disabled={set.length === 0} onClick={clear}>
                  {t('table.clear')}
                </button>
                <button type="button" className="button button-primary" onClick={() => setOpen(false)}>
                  {t('table.done')}
                </button>
              </>
            }
          >
            {filters.map((filter) => (
              <FilterField
                key={filter.name}
                filter={filter}
                value={url.get(filter.name)}
                onPick={(value) => url.set(filter.name, value)}
              />
            ))}
          </Sheet>
        ) : null}
      </>
    );
  return (
    <>
      {children}
      {set.map((filter) => (
        <Chip
          key={filter.name}
          filter={filter}
          value={url.get(filter.name)}
          onPick={(value) => url.set(filter.name, value)}
        />
      ))}
      {filters.length > apart ? (
        unset.length === 0 ? null : (
          <AddButton text={t('table.addFilter')} filters={unset} onPick={url.set} />
        )
      ) : (
        unset.map((filter) => <AddButton key={filter.name} text={filter.label} filters={[filter]} onPick={url.set} />)
      )}
      {set.length === 0 ? null : (
        <button type="button" className="px-1 text-[12px] text-ink-3 hover:text-ink-1" onClick={clear}>
          {t('table.clear')}
        </button>
      )}
    </>
  );
}
