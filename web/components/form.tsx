/** Labelled fields: label above, help or error below; and the foot of a drawer that holds them. */
import { type ComponentProps, type ReactNode, useId } from 'react';
import { useTranslation } from 'react-i18next';
import { leave } from '../lib/dirty-form.ts';
import { useSubmitted } from './checked-form.tsx';

/** Attributes of the control that tie it to its label, help and error. */
export interface FieldIds {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
  readonly 'data-unreadable': true | undefined;
}

export interface FieldProps {
  readonly label: string;
  readonly help?: string | undefined;
  readonly error?: string | undefined;
  /** What is typed cannot be sent: the form is held back and the field takes the focus. */
  readonly unreadable?: boolean;
  readonly children: (ids: FieldIds) => ReactNode;
}

export function Field({ label, help, error, unreadable = false, children }: FieldProps) {
  const id = useId();
  const note = error ?? help;
  return (
    <div className="mb-4 grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-1">
      <label htmlFor={id} className="text-[12px] leading-4 font-medium text-ink-2">
        {label}
      </label>
      {children({
        id,
        'aria-describedby': note === undefined ? undefined : `${id}-note`,
        'aria-invalid': error !== undefined,
        'data-unreadable': unreadable || undefined,
      })}
      {note === undefined ? null : (
        <p id={`${id}-note`} className={`text-[12px] leading-4 ${error === undefined ? 'text-ink-3' : 'text-danger'}`}>
          {note}
        </p>
      )}
    </div>
  );
}

type InputProps = Pick<
  ComponentProps<'input'>,
  'autoComplete' | 'className' | 'disabled' | 'inputMode' | 'list' | 'maxLength' | 'placeholder' | 'type'
>;

export interface TextFieldProps extends Omit<FieldProps, 'children'>, InputProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** It must not be left empty. */
  readonly required?: boolean;
}

export function TextField({
  label,
  help,
  error,
  unreadable = false,
  className = 'field',
  required = false,
  onChange,
  ...input
}: TextFieldProps) {
  const { t } = useTranslation();
  const submitted = useSubmitted();
  const missing = required && input.value.trim() === '';
  const problem = missing && submitted ? t('app.required') : error;
  return (
    <Field label={label} help={help} error={problem} unreadable={unreadable || missing}>
      {(ids) => (
        <input
          {...ids}
          className={className}
          aria-required={required || undefined}
          onChange={(event) => onChange(event.target.value)}
          {...input}
        />
      )}
    </Field>
  );
}

export interface FormFooterProps {
  /** Which form is sent. */
  readonly form: string;
  /** What sending it is called. */
  readonly action: string;
  readonly onClose: () => void;
  readonly disabled?: boolean;
  readonly 'aria-disabled'?: boolean;
}

export function FormFooter({ form, action, onClose, ...submit }: FormFooterProps) {
  const { t } = useTranslation();
  return (
    <>
      <button type="button" className="button" onClick={() => leave(onClose)}>
        {t('app.cancel')}
      </button>
      <button type="submit" form={form} className="button button-primary" {...submit}>
        {action}
      </button>
    </>
  );
}

/** What the server has against the whole form. */
export function FormError({ text }: { readonly text: string }) {
  return (
    <p role="alert" className={`text-danger ${text === '' ? '' : 'mb-3'}`}>
      {text}
    </p>
  );
}
