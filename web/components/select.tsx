/** One value out of a list, in a bar or in a form. */
import { Listbox, ListboxButton, ListboxOption, ListboxOptions } from '@headlessui/react';
import { Field, type FieldProps } from './form.tsx';
import { Icon } from './icon.tsx';

/** Value and name. */
export type Option<Value extends string = string> = readonly [Value, string];

export interface SelectProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean | undefined;
  readonly className?: string;
  readonly 'data-option'?: string | undefined;
}

type Ids = Parameters<FieldProps['children']>[0];

export function Select<Value extends string>(props: SelectProps<Value> & { readonly ids?: Ids }) {
  const { label, value, options, onChange, disabled = false, className = 'button font-normal', ids } = props;
  const name = options.find(([option]) => option === value)?.[1] ?? value;
  return (
    <Listbox value={value} onChange={onChange} disabled={disabled}>
      <ListboxButton
        {...ids}
        data-option={props['data-option']}
        aria-label={`${label}: ${name}`}
        className={`${className} flex items-center gap-2 text-left disabled:opacity-60`}
      >
        <span className="min-w-0 flex-1 truncate">{name}</span>
        <span className="text-ink-3">
          <Icon name="down" />
        </span>
      </ListboxButton>
      <ListboxOptions
        anchor={{ to: 'bottom start', gap: 4, padding: 8 }}
        className="menu max-w-96 min-w-(--button-width)"
      >
        {options.map(([option, text]) => (
          <ListboxOption key={option} value={option} className="group menu-item cursor-pointer max-sm:min-h-11">
            <span className="min-w-0 flex-1 truncate">{text}</span>
            <span className="text-accent-text not-group-data-selected:invisible">
              <Icon name="check" />
            </span>
          </ListboxOption>
        ))}
      </ListboxOptions>
    </Listbox>
  );
}

export function SelectField<Value extends string>({
  help,
  error,
  ...select
}: SelectProps<Value> & Pick<FieldProps, 'help' | 'error'>) {
  return (
    <Field label={select.label} help={help} error={error}>
      {(ids) => <Select className="field" {...select} ids={ids} />}
    </Field>
  );
}
