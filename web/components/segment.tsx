/** A few choices side by side, one of them taken. */
import { Radio, RadioGroup } from '@headlessui/react';

export interface SegmentProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

export function Segment<Value extends string>({ label, value, options, onChange }: SegmentProps<Value>) {
  return (
    <RadioGroup
      aria-label={label}
      value={value}
      onChange={onChange}
      className="flex w-fit max-w-full gap-px overflow-x-auto rounded-2 bg-press p-0.5"
    >
      {options.map(([option, text]) => (
        <Radio
          key={option}
          value={option}
          className="flex h-6 min-w-6 flex-none cursor-pointer items-center justify-center rounded-1 px-2 text-[12px] whitespace-nowrap text-ink-2 data-checked:bg-surface data-checked:font-medium data-checked:text-ink-1 max-sm:h-8"
        >
          {text}
        </Radio>
      ))}
    </RadioGroup>
  );
}
