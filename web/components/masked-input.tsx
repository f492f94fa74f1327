/** Fields for secrets, which can be looked at while they are typed. */
import { type InputHTMLAttributes, type TextareaHTMLAttributes, useState } from 'react';
import { useTranslation } from 'react-i18next';

export interface MaskedInputProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly id: string;
  /** What is shown and hidden. */
  readonly label: string;
}

function Toggle({
  id,
  label,
  shown,
  onToggle,
}: {
  readonly id: string;
  readonly label: string;
  readonly shown: boolean;
  readonly onToggle: () => void;
}) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className="absolute top-0 right-0 h-8 rounded-2 px-3 text-[12px] text-ink-2 hover:text-ink-1 max-sm:h-11"
      aria-controls={id}
      onClick={onToggle}
    >
      {t(shown ? 'account.hide' : 'account.show')}
      <span className="sr-only"> {label}</span>
    </button>
  );
}

export function MaskedInput({ label, className = 'field', ...input }: MaskedInputProps) {
  const [shown, setShown] = useState(false);
  return (
    <div className="relative">
      <input
        {...input}
        type={shown ? 'text' : 'password'}
        className={`${className} pr-14`}
        autoCapitalize="off"
        spellCheck={false}
      />
      <Toggle id={input.id} label={label} shown={shown} onToggle={() => setShown(!shown)} />
    </div>
  );
}

export interface MaskedLinesProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  readonly id: string;
  readonly label: string;
  readonly value: string;
}

/** Several secrets, one a line. */
export function MaskedLines({ label, className = 'field', ...area }: MaskedLinesProps) {
  const [shown, setShown] = useState(false);
  return (
    <div className="relative">
      <textarea
        {...area}
        className={`${className} pr-14 ${shown || area.value === '' ? '' : 'masked'}`}
        autoCapitalize="off"
        autoComplete="off"
        spellCheck={false}
      />
      <Toggle id={area.id} label={label} shown={shown} onToggle={() => setShown(!shown)} />
    </div>
  );
}
