/** A text of one's own, or one of those that are suggested. */
import { Combobox, ComboboxInput, ComboboxOption, ComboboxOptions } from '@headlessui/react';
import { useState } from 'react';
import { Field, type FieldProps } from './form.tsx';
import type { Option } from './select.tsx';

/** So many are shown at once: the rest is found by typing. */
const maxSuggestions = 100;

export const matching = (options: readonly Option[], text: string): readonly Option[] => {
  const needle = text.trim().toLowerCase();
  return options
    .filter((option) => option.some((part) => part.toLowerCase().includes(needle)))
    .slice(0, maxSuggestions);
};

export interface SuggestFieldProps extends Pick<FieldProps, 'label' | 'help' | 'error'> {
  readonly value: string;
  readonly options: readonly Option[];
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
}

export function SuggestField({ label, help, error, value, options, onChange, placeholder }: SuggestFieldProps) {
  // A form gives its first field the focus: the list opens when somebody asks for it.
  const [pressed, setPressed] = useState(false);
  // Who has just opened the list sees all of it, not what is there already.
  const found = options.some(([option]) => option === value)
    ? options.slice(0, maxSuggestions)
    : matching(options, value);
  return (
    <Field label={label} help={help} error={error}>
      {(ids) => (
        <Combobox<string> immediate={pressed} value={value} onChange={(next: string | null) => onChange(next ?? '')}>
          <ComboboxInput
            {...ids}
            aria-label={label}
            className="field"
            autoComplete="off"
            onPointerDown={() => setPressed(true)}
            placeholder={placeholder}
            onChange={(event) => onChange(event.target.value)}
          />
          <ComboboxOptions
            anchor={{ to: 'bottom start', gap: 4, padding: 8 }}
            className="menu w-(--input-width) empty:hidden"
          >
            {found.map(([option, text]) => (
              <ComboboxOption key={option} value={option} className="menu-item cursor-pointer max-sm:min-h-11">
                <span className="truncate">{text}</span>
              </ComboboxOption>
            ))}
          </ComboboxOptions>
        </Combobox>
      )}
    </Field>
  );
}
