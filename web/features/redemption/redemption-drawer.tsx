/** Makes codes or edits one. */
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import type { Redemption } from '../../../server/contract/entities.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { moneyIn, moneyOf, valueIn } from '../../components/amount.ts';
import { MoneyField, NumberField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { ExpiryField } from '../../components/expiry-field.tsx';
import { FormFooter, TextField } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { useForm } from '../../components/use-form.ts';
import { call } from '../../lib/api.ts';
import { expiryIn, expiryText } from '../../lib/expiry.ts';
import { useMoney } from '../../lib/money.ts';

/** Units of currency. */
const presets = [1, 10, 50, 100, 500, 1000];
const maxCodes = 100;
export const countBounds = { integer: true, min: 1, max: maxCodes } as const;
export const worthBounds = { min: 1 } as const;
/** Quota of a new code. */
const defaultAmount = 100_000;

export interface RedemptionDrawerProps {
  /** null = new ones. */
  readonly redemption: Redemption | null;
  readonly details: MoneyDetails;
  readonly onClose: () => void;
  /** @param codes the new codes, null after an edit. */
  readonly onSaved: (codes: readonly string[] | null) => void;
}

export function RedemptionDrawer({ redemption, details, onClose, onSaved }: RedemptionDrawerProps) {
  const { t } = useTranslation();
  const money = useMoney();
  // The server's word for never is 0 here.
  const stored = redemption?.expired_time ?? 0;
  const first = () => ({
    name: redemption?.name ?? '',
    quota: moneyIn(redemption?.quota ?? defaultAmount, details),
    count: '1',
    expires: expiryText(stored),
  });
  const { typed, field, ...form } = useForm(first, async ({ name, quota, count, expires }) => {
    const worth = valueIn(moneyOf(quota, details, worthBounds));
    const fields = {
      name: name.trim() === '' ? money(worth) : name.trim(),
      quota: worth,
      expired_time: Math.max(0, expiryIn(expires, stored)),
    };
    if (redemption === null) {
      onSaved(await call('redemption.create', { ...fields, count: valueIn(parseNumber(count, countBounds)) }));
    } else {
      await call('redemption.update', { id: redemption.id, ...fields });
      onSaved(null);
    }
  });
  const amount = moneyOf(typed.quota, details, worthBounds);

  return (
    <Sheet
      title={redemption === null ? t('redemption.add') : t('redemption.edit')}
      dirty={form.dirty}
      onClose={onClose}
      footer={<FormFooter form="redemption-form" action={t('app.save')} onClose={onClose} disabled={form.busy} />}
    >
      <CheckedForm id="redemption-form" onSubmit={form.submit}>
        <TextField
          label={t('redemption.name')}
          help={t('redemption.nameHelp')}
          maxLength={20}
          autoComplete="off"
          {...field('name')}
        />
        <MoneyField
          label={t('redemption.quota')}
          help={amount.kind === 'value' ? t('redemption.worth', { usd: money(amount.value) }) : undefined}
          bounds={worthBounds}
          {...field('quota')}
        />
        <div className="-mt-2 mb-4 flex flex-wrap gap-1.5">
          {presets.map((preset) => (
            <button
              key={preset}
              type="button"
              className="button"
              onClick={() => field('quota').onChange(moneyIn(preset * details.quotaPerUnit, details))}
            >
              {money(preset * details.quotaPerUnit, 'whole')}
            </button>
          ))}
        </div>
        <ExpiryField stored={stored} {...field('expires')} />
        {redemption === null ? (
          <NumberField
            label={t('redemption.count')}
            help={t('redemption.countHelp', { most: maxCodes })}
            bounds={countBounds}
            {...field('count')}
          />
        ) : null}
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
    </Sheet>
  );
}
