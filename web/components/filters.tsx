/** In the bar above a list: a field that searches, a box that is ticked. */

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
      className={`field max-sm:h-9! max-sm:w-auto max-sm:min-w-0 max-sm:flex-1 max-sm:basis-40 ${className}`}
      placeholder={label}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      // Without the focus, the shortcuts of the page work again.
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.blur();
      }}
      {...rest}
    />
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
