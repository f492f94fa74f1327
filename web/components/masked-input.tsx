/** A field for a secret, which can be looked at while it is typed. */
import { type InputHTMLAttributes, useState } from 'react';
import { useTranslation } from 'react-i18next';

export interface MaskedInputProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly id: string;
  /** What is shown and hidden. */
  readonly label: string;
}

export function MaskedInput({ label, className = 'field', ...input }: MaskedInputProps) {
  const { t } = useTranslation();
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
      <button
        type="button"
        className="absolute inset-y-0 right-0 rounded-2 px-3 text-[12px] text-ink-2 hover:text-ink-1"
        aria-controls={input.id}
        onClick={() => setShown(!shown)}
      >
        {t(shown ? 'account.hide' : 'account.show')}
        <span className="sr-only"> {label}</span>
      </button>
    </div>
  );
}
