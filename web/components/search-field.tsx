/** A field that narrows a list while one types. */
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
