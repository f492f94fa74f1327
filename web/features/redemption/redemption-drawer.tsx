import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Redemption } from '../../../server/contract/entities.ts';
import { Field } from '../../components/form.tsx';
import { Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { useMoney, useMoneyFacts } from '../../shell/money.ts';

/** Units of currency. */
const presets = [1, 10, 50, 100, 500, 1000];
const mostCodes = 100;

export interface RedemptionDrawerProps {
  /** null = new ones. */
  readonly redemption: Redemption | null;
  readonly onClose: () => void;
  /** @param codes the new codes, null after an edit. */
  readonly onSaved: (codes: readonly string[] | null) => void;
}

export function RedemptionDrawer({ redemption, onClose, onSaved }: RedemptionDrawerProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const unit = useMoneyFacts()?.quotaPerUnit ?? 0;
  const [name, setName] = useState(redemption?.name ?? '');
  const [quota, setQuota] = useState(String(redemption?.quota ?? 100_000));
  const [count, setCount] = useState('1');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const worth = Number.parseInt(quota, 10) || 0;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const fields = { name: name.trim() === '' ? money(worth) : name.trim(), quota: worth };
    try {
      if (redemption === null) {
        onSaved(await call('redemption.create', { ...fields, count: Number.parseInt(count, 10) || 0 }));
      } else {
        await call('redemption.update', { id: redemption.id, ...fields });
        onSaved(null);
      }
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };

  return (
    <Drawer
      title={redemption === null ? t('redemption.add') : t('redemption.edit')}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {t('app.cancel')}
          </button>
          <button type="submit" form="redemption-form" className="button button-primary" disabled={busy}>
            {t('app.save')}
          </button>
        </>
      }
    >
      <form id="redemption-form" onSubmit={submit} noValidate>
        <Field label={t('redemption.name')} help={t('redemption.nameHelp')}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              maxLength={20}
              value={name}
              onChange={(event) => setName(event.target.value)}
              autoComplete="off"
            />
          )}
        </Field>
        <Field label={t('redemption.quota')} help={t('redemption.worth', { usd: money(worth) })}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              inputMode="numeric"
              value={quota}
              onChange={(event) => setQuota(event.target.value)}
            />
          )}
        </Field>
        <div className="-mt-2 mb-4 flex flex-wrap gap-1.5">
          {presets.map((preset) => (
            <button key={preset} type="button" className="button" onClick={() => setQuota(String(preset * unit))}>
              {money(preset * unit, 'whole')}
            </button>
          ))}
        </div>
        {redemption === null ? (
          <Field label={t('redemption.count')} help={t('redemption.countHelp', { most: mostCodes })}>
            {(ids) => (
              <input
                {...ids}
                className="field"
                inputMode="numeric"
                value={count}
                onChange={(event) => setCount(event.target.value)}
              />
            )}
          </Field>
        ) : null}
        <p role="alert" className="text-danger">
          {error}
        </p>
      </form>
    </Drawer>
  );
}
