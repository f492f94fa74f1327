/** What narrows a list: a field, a choice, a box. */
/** Narrows while one types. */
export interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Its size. */
  readonly className: string;
  /** The `/` key goes here. */
  readonly slash?: boolean;
  readonly type?: 'search' | 'text' | 'datetime-local' | undefined;
  readonly autoComplete?: 'off';
}

export function SearchField({ label, value, onChange, className, slash, type = 'search', ...rest }: SearchFieldProps) {
  return (
    <input
      type={type}
      data-key={slash ? '/' : undefined}
      className={`field ${className}`}
      placeholder={label}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      {...rest}
    />
  );
}

/** One value out of a few, or any. */
export interface FilterSelectProps {
  readonly label: string;
  /** What '' is called; the label, where nothing else is said. */
  readonly any?: string;
  readonly value: string;
  /** Value and name. */
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

export function FilterSelect({ label, any = label, value, options, onChange }: FilterSelectProps) {
  return (
    <select
      className="field h-7 w-auto"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{any}</option>
      {options.map(([option, name]) => (
        <option key={option} value={option}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** A box with its words beside it. */
export interface CheckBoxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly className: string;
}

export function CheckBox({ label, checked, onChange, className }: CheckBoxProps) {
  return (
    <label className={className}>
      <input
        type="checkbox"
        className="size-4 accent-(--accent)"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  );
}
