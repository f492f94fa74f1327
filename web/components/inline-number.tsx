/** A number that is edited where it stands: Enter saves, Escape takes it back, what cannot be read stays with its reason. */

import { useId, useState } from 'react';
import { type NumberOptions, parseNumber } from '../../server/contract/amount.ts';
import { textIn } from '../../server/contract/language.ts';
import { raisedBy } from '../../server/contract/pricing/decimal.ts';
import { currentLanguage } from '../lib/i18n.ts';

export interface InlineNumberProps {
  readonly label: string;
  readonly value: number;
  readonly bounds: NumberOptions;
  /** How the value is written; as a number without it. */
  readonly written?: (value: number) => string;
  /** `+20%` is a change of the value. */
  readonly relative?: boolean;
  readonly onSave: (value: number) => void;
}

/** @returns what was typed; where it is a change in percent, the value with it. */
export function changedBy(value: number, typed: string): string {
  const [, sign, percent] = /^([+−-])\s*(\d+(?:\.\d+)?)\s*%$/.exec(typed.trim()) ?? [];
  if (percent === undefined) return typed;
  return String(raisedBy(value, sign === '+' ? Number(percent) : -Number(percent)));
}

export function InlineNumber({ label, value, bounds, written = String, relative = false, onSave }: InlineNumberProps) {
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const [left, setLeft] = useState(false);
  const amount = parseNumber(relative && draft !== null ? changedBy(value, draft) : (draft ?? String(value)), bounds);
  const problem = left && draft !== null && amount.kind === 'invalid' ? textIn(amount.issue, currentLanguage()) : null;
  const save = () => {
    if (draft === null) return;
    if (amount.kind !== 'value') return setLeft(true);
    setDraft(null);
    setLeft(false);
    if (amount.value !== value) onSave(amount.value);
  };
  return (
    <span className="-mr-1.5 inline-grid justify-items-end">
      <input
        className="h-7 w-14 rounded-2 border border-transparent bg-transparent px-1.5 text-right hover:border-line-control focus:border-line-control aria-invalid:border-danger"
        aria-label={label}
        aria-invalid={problem !== null}
        aria-describedby={problem === null ? undefined : id}
        inputMode="decimal"
        value={draft ?? written(value)}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={save}
        onKeyDown={(event) => {
          if (event.key === 'Enter') save();
          if (event.key === 'Escape') {
            setDraft(null);
            setLeft(false);
            event.stopPropagation();
          }
        }}
      />
      {problem === null ? null : (
        <span
          id={id}
          role="alert"
          className="max-w-40 pb-1 text-right text-[12px] leading-4 whitespace-normal text-danger"
        >
          {problem}
        </span>
      )}
    </span>
  );
}
