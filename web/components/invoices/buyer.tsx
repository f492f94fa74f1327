/** What later invoices say of their buyer: of oneself, or of another for administrators. */
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Buyer } from '../../../server/contract/invoice.ts';
import { call } from '../../lib/api.ts';
import { useDirty } from '../../lib/dirty-form.ts';
import { useRead } from '../../lib/read.ts';
import { Card } from '../card.tsx';
import { CheckedForm } from '../checked-form.tsx';
import { Field, TextField } from '../form.tsx';
import { useForm } from '../use-form.ts';
import { Waiting } from '../waiting.tsx';

/** As the server bounds them. */
const maxLine = 200;
const maxAddress = 600;

interface BuyerFormProps {
  /** Absent = the reader. */
  readonly userId?: number | undefined;
  readonly buyer: Buyer;
}

function BuyerForm({ userId, buyer }: BuyerFormProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { typed, change, field, ...form } = useForm(
    () => buyer,
    async (changed) => {
      await call('invoice.save_buyer', { user: userId, ...changed });
      toast.success(t('settings.saved'));
      await client.invalidateQueries({ queryKey: ['buyer'] });
    },
  );
  useDirty(form.dirty);
  return (
    <CheckedForm onSubmit={form.submit}>
      <p className="mb-3 text-ink-2">{t('invoices.buyerHelp')}</p>
      <TextField label={t('invoices.name')} maxLength={maxLine} autoComplete="organization" {...field('name')} />
      <Field label={t('invoices.address')}>
        {(ids) => (
          <textarea
            {...ids}
            className="field h-auto! py-1.5"
            rows={4}
            maxLength={maxAddress}
            value={typed.address}
            onChange={(event) => change({ address: event.target.value })}
          />
        )}
      </Field>
      <TextField label={t('invoices.taxId')} maxLength={maxLine} {...field('tax_id')} />
      <p role="alert" className="text-danger">
        {form.error}
      </p>
      <button type="submit" className="button button-primary" disabled={form.busy}>
        {t('app.save')}
      </button>
    </CheckedForm>
  );
}

interface BuyerCardProps {
  /** Absent = the reader. */
  readonly userId?: number;
  readonly more?: ReactNode;
}

export function BuyerCard({ userId, more }: BuyerCardProps) {
  const { t } = useTranslation();
  const buyer = useRead({
    queryKey: ['buyer', userId ?? 0],
    queryFn: () => call('invoice.buyer', { user: userId }),
  }).data;
  return (
    <Card title={t('invoices.buyer')} actions={more}>
      {buyer === undefined ? <Waiting /> : <BuyerForm key={JSON.stringify(buyer)} userId={userId} buyer={buyer} />}
    </Card>
  );
}
