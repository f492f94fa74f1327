/** A password, which can be looked at while it is typed. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Field } from '../../components/form.tsx';

export interface PasswordFieldProps {
  readonly label: string;
  readonly help?: string;
  readonly name: string;
  readonly autoComplete: 'current-password' | 'new-password';
}

export function PasswordField({ label, help, name, autoComplete }: PasswordFieldProps) {
  const { t } = useTranslation();
  const [shown, setShown] = useState(false);
  return (
    <Field label={label} help={help}>
      {(ids) => (
        <div className="relative">
          <input
            {...ids}
            name={name}
            type={shown ? 'text' : 'password'}
            className="field pr-14"
            autoComplete={autoComplete}
            autoCapitalize="off"
            spellCheck={false}
          />
          <button
            type="button"
            className="absolute inset-y-0 right-0 rounded-2 px-3 text-[12px] text-ink-2 hover:text-ink-1"
            aria-controls={ids.id}
            onClick={() => setShown(!shown)}
          >
            {t(shown ? 'account.hide' : 'account.show')}
            <span className="sr-only"> {label}</span>
          </button>
        </div>
      )}
    </Field>
  );
}
