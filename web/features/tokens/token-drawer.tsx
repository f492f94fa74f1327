/** Makes tokens or edits one. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter } from '../../components/form.tsx';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { sameForm } from '../../lib/dirty-form.ts';
import { useAside } from '../../lib/read.ts';
import { TokenFields } from './token-fields.tsx';
import { fieldsOf, formOf, type TokenForm } from './token-form.ts';

const suffixAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const suffix = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join(
    '',
  );
/** @param known undefined = nobody could say. */
const strangersIn = (chosen: readonly string[], known: readonly string[] | undefined): readonly string[] =>
  known === undefined ? [] : chosen.filter((name) => !known.includes(name));

export interface TokenDrawerProps {
  /** null = a new one. */
  readonly token: Token | null;
  readonly facts: MoneyDetails;
  readonly onClose: () => void;
  readonly onSaved: (token: Token, fresh: boolean) => void;
}

export function TokenDrawer({ token, facts, onClose, onSaved }: TokenDrawerProps) {
  const { t } = useTranslation();
  const [first] = useState(() => formOf(token, facts));
  const [form, setForm] = useState(first);
  const change = (some: Partial<TokenForm>) => setForm((before) => ({ ...before, ...some }));
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);

  const known = useAside({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const [strange, setStrange] = useState<readonly string[]>([]);

  const save = async () => {
    setBusy(true);
    try {
      const fields = fieldsOf(form, token, facts);
      if (token !== null) return onSaved(await call('token.update', { id: token.id, ...fields }), false);
      const first = await call('token.create', fields);
      for (let made = 1; made < form.count; made++)
        await call('token.create', { ...fields, name: `${form.name}-${suffix()}` });
      onSaved(first, true);
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };

  const submit = () => {
    const unknown = strangersIn(form.models, known);
    // What was allowed before is the owner's business.
    if (unknown.length === 0 || form.models.join() === first.models.join()) return void save();
    setStrange(unknown);
  };

  return (
    <Sheet
      title={token === null ? t('tokens.add') : t('tokens.edit')}
      dirty={!busy && !sameForm(form, first)}
      onClose={onClose}
      footer={<FormFooter form="token-form" action={t('app.save')} onClose={onClose} disabled={busy} />}
    >
      <CheckedForm id="token-form" onSubmit={submit}>
        <TokenFields {...{ form, token, facts }} onChange={change} />
        <p role="alert" className="text-danger">
          {error}
        </p>
      </CheckedForm>
      {strange.length === 0 ? null : (
        <Confirm
          title={t('tokens.unknownModels')}
          text={t('tokens.unknownModelsText', { names: strange.join(', ') })}
          action={t('tokens.saveAnyway')}
          onClose={() => setStrange([])}
          onConfirm={() => {
            setStrange([]);
            void save();
          }}
        />
      )}
    </Sheet>
  );
}
