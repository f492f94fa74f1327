/** The code of an authenticator, or a recovery code. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { User } from '../../../server/contract/entities.ts';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { Field, FormError } from '../form.tsx';

/** What a login returns: a user, or a ticket for the second step. */
export type Entered = OutputOf<EndpointOf<'session.login'>>;

export function SecondStep({ ticket, onIn }: { readonly ticket: string; readonly onIn: (user: User) => void }) {
  const { t } = useTranslation();
  const [error, setError] = useState('');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code') ?? '');
    try {
      onIn(await call('second_factor.login', { ticket, code }));
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <form onSubmit={submit} noValidate>
      <Field label={t('account.secondCode')} help={t('account.secondHelp')}>
        {/* biome-ignore lint/a11y/noAutofocus: the only field of a step the reader just asked for */}
        {(ids) => <input {...ids} name="code" className="field font-mono" autoComplete="one-time-code" autoFocus />}
      </Field>
      <FormError text={error} />
      <button type="submit" className="button button-primary h-8 w-full">
        {t('login.submit')}
      </button>
    </form>
  );
}
