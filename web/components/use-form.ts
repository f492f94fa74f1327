/** What a form holds: as it was opened, as it is typed, and what the server has against it, at the field it is about. */
import { useCallback, useState } from 'react';
import { flushSync } from 'react-dom';
import { ApiError } from '../lib/api.ts';
import { messageOf } from '../lib/attempt.ts';
import { sameForm } from '../lib/dirty-form.ts';

/** The field that a refusal is about, by its code; `params_invalid` names it itself. */
type FieldNames<T> = Readonly<Record<string, keyof T>>;

/** What a shared field of a form is given. */
export type FieldOf<T> = <Name extends keyof T>(
  name: Name,
) => { readonly value: T[Name]; readonly onChange: (value: T[Name]) => void; readonly error: string | undefined };

/**
 * @param first read once, when the form opens.
 * @param send throws what the server refuses; then what is typed stays, else it counts as stored.
 */
export function useForm<T extends object>(
  first: () => T,
  send: (typed: T) => Promise<unknown>,
  fieldNames: FieldNames<T> = {},
) {
  const [opened, setOpened] = useState(first);
  const [typed, setTyped] = useState(opened);
  const [errors, setErrors] = useState<Partial<Record<keyof T, string>> & { readonly form?: string }>({});
  const [busy, setBusy] = useState(false);
  const change = useCallback((some: Partial<T>) => {
    setTyped((before) => ({ ...before, ...some }));
    setErrors((before) => ({ ...before, ...Object.fromEntries(Object.keys(some).map((name) => [name, undefined])) }));
  }, []);
  const fieldOf = (failure: unknown): keyof T | 'form' => {
    if (!(failure instanceof ApiError)) return 'form';
    const { field } = failure.params;
    // `targets[0].model` lies within the field `targets`.
    const named = typeof field === 'string' ? field.replace(/[[.].*$/s, '') : '';
    return fieldNames[failure.code] ?? (named in typed ? (named as keyof T) : 'form');
  };
  const submit = async () => {
    setBusy(true);
    setErrors({});
    try {
      await send(typed);
      setOpened(typed);
    } catch (failure) {
      // What is said is on the page when the form looks for the field to go to.
      flushSync(() => setErrors({ [fieldOf(failure)]: messageOf(failure) } as typeof errors));
    } finally {
      setBusy(false);
    }
  };
  return {
    typed,
    /** Stable. */
    change,
    submit,
    busy,
    /** Closing would lose what is typed. */
    dirty: !busy && !sameForm(typed, opened),
    /** What is about no field. */
    error: errors.form ?? '',
    field: ((name) => ({
      value: typed[name],
      onChange: (value) => change({ [name]: value } as unknown as Partial<T>),
      error: errors[name],
    })) satisfies FieldOf<T> as FieldOf<T>,
  };
}
