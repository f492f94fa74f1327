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
