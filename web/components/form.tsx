/** Labelled fields: label above, help or error below. */
import { type ReactNode, useId } from 'react';

export interface FieldProps {
  readonly label: string;
  readonly help?: string | undefined;
  readonly error?: string | undefined;
  readonly children: (ids: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': boolean;
  }) => ReactNode;
}

export function Field({ label, help, error, children }: FieldProps) {
  const id = useId();
  const note = error ?? help;
  return (
    <div className="mb-4 grid content-start gap-1">
      <label htmlFor={id} className="text-[12px] leading-4 font-medium text-ink-2">
        {label}
      </label>
      {children({
        id,
        'aria-describedby': note === undefined ? undefined : `${id}-note`,
        'aria-invalid': error !== undefined,
      })}
      {note === undefined ? null : (
        <p id={`${id}-note`} className={`text-[12px] leading-4 ${error === undefined ? 'text-ink-3' : 'text-danger'}`}>
          {note}
        </p>
      )}
    </div>
  );
}
