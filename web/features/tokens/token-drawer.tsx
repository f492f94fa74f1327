/** Makes tokens or edits one. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter } from '../../components/form.tsx';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { useForm } from '../../components/use-form.ts';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { LiveSentence, TokenFields } from './token-fields.tsx';
import { fieldsOf, formOf } from './token-form.ts';

const suffixAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const suffix = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join(
    '',
  );
/** @param known undefined = not known. */
const unknownModels = (selected: readonly string[], known: readonly string[] | undefined): readonly string[] =>
  known === undefined ? [] : selected.filter((name) => !known.includes(name));

export interface TokenDrawerProps {
  /** null = a new one. */
  readonly token: Token | null;
  readonly details: MoneyDetails;
  readonly onClose: () => void;
  readonly onSaved: (token: Token, fresh: boolean) => void;
}

export function TokenDrawer({ token, details, onClose, onSaved }: TokenDrawerProps) {
  const { t } = useTranslation();
  const known = useOptionalRead({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const [unlisted, setUnlisted] = useState<readonly string[]>([]);
  const { typed, change, field, ...form } = useForm(
    () => formOf(token, details),
    async (typed) => {
      const fields = fieldsOf(typed, token, details);
      if (token !== null) return onSaved(await call('token.update', { id: token.id, ...fields }), false);
      const made = await call('token.create', fields);
      for (let count = 1; count < typed.count; count++)
        await call('token.create', { ...fields, name: `${typed.name}-${suffix()}` });
      onSaved(made, true);
    },
    {
      ...{ token_name_required: 'name', token_name_long: 'name', token_addresses: 'ips', token_labels: 'labels' },
      ...{ token_expiry_invalid: 'expires', token_expiry_past: 'expires' },
    },
  );

  const submit = async () => {
    const unknown = unknownModels(typed.models, known);
    // What was allowed before is the owner's business.
    if (unknown.length === 0 || typed.models.join() === formOf(token, details).models.join()) await form.submit();
    else setUnlisted(unknown);
  };

  return (
    <Sheet
      title={token === null ? t('tokens.add') : t('tokens.edit')}
      dirty={form.dirty}
      onClose={onClose}
      footer={
        <>
          {/* Stays visible while the fields above change it. */}
          <div className="basis-full">
            <LiveSentence {...{ token, details }} form={typed} />
          </div>
          <FormFooter
            form="token-form"
            action={token === null ? t('tokens.create') : t('app.save')}
            onClose={onClose}
            disabled={form.busy}
          />
        </>
      }
    >
      <CheckedForm id="token-form" onSubmit={submit}>
        <TokenFields {...{ token, details, field }} form={typed} onChange={change} />
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
      {unlisted.length === 0 ? null : (
        <Confirm
          title={t('tokens.unknownModels')}
          text={t('tokens.unknownModelsText', { names: unlisted.join(', ') })}
          action={t('tokens.saveAnyway')}
          onClose={() => setUnlisted([])}
          onConfirm={() => {
            setUnlisted([]);
            void form.submit();
          }}
        />
      )}
    </Sheet>
  );
}
