/** A labelled field of one line. */
import type { ComponentProps } from 'react';
import { Field, type FieldProps } from './form.tsx';

export interface TextFieldProps
  extends Omit<FieldProps, 'children'>,
    Pick<
      ComponentProps<'input'>,
      'autoComplete' | 'className' | 'disabled' | 'inputMode' | 'list' | 'maxLength' | 'placeholder' | 'type'
    > {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function TextField({ label, help, error, className = 'field', onChange, ...input }: TextFieldProps) {
  return (
    <Field label={label} help={help} error={error}>
      {(ids) => <input {...ids} className={className} onChange={(event) => onChange(event.target.value)} {...input} />}
    </Field>
  );
}
