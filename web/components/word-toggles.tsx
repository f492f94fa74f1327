/** Some words out of a few, each switched on or off. */
import type { Option } from './select.tsx';

export interface WordTogglesProps<Value extends string> {
  readonly label: string;
  readonly help?: string;
  readonly error?: string | undefined;
  readonly values: readonly Value[];
  readonly options: readonly Option<Value>[];
  readonly onChange: (values: readonly Value[]) => void;
}

export function WordToggles<Value extends string>(props: WordTogglesProps<Value>) {
  const { label, help, error, values, options, onChange } = props;
  const note = error ?? help;
  return (
    <fieldset className="mb-4 grid min-w-0 gap-1">
      <legend className="mb-1 text-[12px] leading-4 font-medium text-ink-2">{label}</legend>
      <span className="flex flex-wrap gap-1">
        {options.map(([value, text]) => {
          const isOn = values.includes(value);
          return (
            <button
              key={value}
              type="button"
              aria-pressed={isOn}
              className={`h-6 rounded-1 px-2 text-[12px] max-sm:h-9 ${isOn ? 'bg-accent-soft text-accent-text' : 'bg-sunken text-ink-2'}`}
              onClick={() =>
                onChange(options.map(([one]) => one).filter((one) => (one === value ? !isOn : values.includes(one))))
              }
            >
              {text}
            </button>
          );
        })}
      </span>
      {note === undefined ? null : (
        <p className={`text-[12px] leading-4 ${error === undefined ? 'text-ink-3' : 'text-danger'}`}>{note}</p>
      )}
    </fieldset>
  );
}
