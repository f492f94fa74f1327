/** A number that is edited where it stands: Enter saves, Escape takes it back. */
import { useState } from 'react';

export interface InlineNumberProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly onSave: (value: number) => void;
}

export function InlineNumber({ label, value, min, onSave }: InlineNumberProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const save = () => {
    const next = Math.max(min, Number.parseInt(draft ?? '', 10));
    setDraft(null);
    if (Number.isInteger(next) && next !== value) onSave(next);
  };
  return (
    <input
      className="h-7 w-16 rounded-2 border border-transparent bg-transparent px-1.5 text-right hover:border-line-control focus:border-line-control"
      aria-label={label}
      inputMode="numeric"
      value={draft ?? value}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={() => draft !== null && save()}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur();
        if (event.key === 'Escape') {
          setDraft(null);
          event.stopPropagation();
        }
      }}
    />
  );
}
