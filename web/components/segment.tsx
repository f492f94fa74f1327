/** A few choices side by side, one of them taken. */
export interface SegmentProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

export function Segment<Value extends string>({ label, value, options, onChange }: SegmentProps<Value>) {
  return (
    <fieldset className="flex w-fit gap-px rounded-2 bg-press p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          className={`h-6 min-w-6 rounded-1 px-2 text-[12px] whitespace-nowrap max-sm:h-9 ${option === value ? 'bg-surface font-medium text-ink-1' : 'text-ink-2'}`}
          onClick={() => onChange(option)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}
