/** A form that is sent only when every field in it can be read; the first wrong one, or the one that the server refuses, takes the focus. */
import { createContext, type FormEvent, type ReactNode, useContext, useState } from 'react';
import { flushSync } from 'react-dom';

/** True after the first attempt to send the form: from then on fields show what is wrong with them, touched or not. */
const Submitted = createContext(false);
export const useSubmitted = (): boolean => useContext(Submitted);

/** @returns false = there is no such field. */
function goTo(field: HTMLElement | null): boolean {
  if (field === null) return false;
  const collapsed = field.closest('details');
  if (collapsed !== null) collapsed.open = true;
  field.focus();
  return true;
}

export interface CheckedFormProps {
  readonly id?: string;
  readonly className?: string;
  readonly children: ReactNode;
  /** Before anything is looked at: what the form itself has against its contents is said together with the rest. */
  readonly onTry?: () => void;
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => unknown;
}

export function CheckedForm({ onTry, onSubmit, children, ...form }: CheckedFormProps) {
  const [submitted, setSubmitted] = useState(false);
  return (
    <form
      {...form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        flushSync(() => {
          setSubmitted(true);
          onTry?.();
        });
        const form = event.currentTarget;
        if (!goTo(form.querySelector('[data-unreadable]:not(:disabled)')))
          void Promise.resolve(onSubmit(event)).then(() => goTo(form.querySelector('[aria-invalid="true"]')));
      }}
    >
      <Submitted value={submitted}>{children}</Submitted>
    </form>
  );
}
