/** A password, which can be looked at while it is typed. */
import { Field } from '../form.tsx';
import { MaskedInput } from '../masked-input.tsx';

export interface PasswordFieldProps {
  readonly label: string;
  readonly help?: string;
  readonly name: string;
  readonly autoComplete: 'current-password' | 'new-password';
}

export function PasswordField({ label, help, name, autoComplete }: PasswordFieldProps) {
  return (
    <Field label={label} help={help}>
      {(ids) => <MaskedInput {...ids} label={label} name={name} autoComplete={autoComplete} />}
    </Field>
  );
}
