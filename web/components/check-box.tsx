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
