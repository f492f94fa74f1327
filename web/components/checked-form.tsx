/** A form that is sent only when every field in it can be read; else the first wrong one takes the focus. */
import { createContext, type FormEvent, type ReactNode, useContext, useState } from 'react';
import { flushSync } from 'react-dom';

/** Somebody has tried to send the form: its fields say what is wrong with them, touched or not. */
const Tried = createContext(false);
export const useTried = (): boolean => useContext(Tried);

export interface CheckedFormProps {
  readonly id?: string;
  readonly className?: string;
  readonly children: ReactNode;
  /** Before anything is looked at: what the form itself has against its contents is said together with the rest. */
  readonly onTry?: () => void;
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => unknown;
}

export function CheckedForm({ onTry, onSubmit, children, ...form }: CheckedFormProps) {
  const [tried, setTried] = useState(false);
  return (
    <form
      {...form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        flushSync(() => {
          setTried(true);
          onTry?.();
        });
        const wrong = event.currentTarget.querySelector<HTMLElement>('[data-unreadable]:not(:disabled)');
        if (wrong === null) return onSubmit(event);
        const folded = wrong.closest('details');
        if (folded !== null) folded.open = true;
        wrong.focus();
      }}
    >
      <Tried value={tried}>{children}</Tried>
    </form>
  );
}
