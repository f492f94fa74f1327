/** The second factor: scan, confirm, keep the recovery codes; off again with a code. */

import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { renderSVG } from 'uqr';
import { Field } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useRead } from '../../lib/read.ts';
import { ActionLine } from './action-line.tsx';

type Step =
  | { readonly kind: 'scan'; readonly secret: string; readonly uri: string }
  | { readonly kind: 'codes'; readonly codes: readonly string[] }
  | { readonly kind: 'renew' }
  | { readonly kind: 'disable' };

function CodeForm({ action, onCode }: { readonly action: string; readonly onCode: (code: string) => void }) {
  const { t } = useTranslation();
  const [code, setCode] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onCode(code);
  };
  return (
    <form onSubmit={submit}>
      <Field label={t('account.secondCode')}>
        {(ids) => (
          <input
            {...ids}
            className="field font-mono"
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        )}
      </Field>
      <button type="submit" className="button button-primary">
        {action}
      </button>
    </form>
  );
}

export function SecondFactor() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const state = useRead({ queryKey: ['second-factor'], queryFn: () => call('second_factor.get') }).data;
  const [step, setStep] = useState<Step | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['second-factor'] });
  const close = () => setStep(null);

  const begin = () => attempt(async () => setStep({ kind: 'scan', ...(await call('second_factor.begin')) }));
  const withCode = {
    scan: async (code: string) => {
      const { recovery_codes: codes } = await call('second_factor.enable', { code });
      setStep({ kind: 'codes', codes });
    },
    renew: async (code: string) => {
      const { recovery_codes: codes } = await call('second_factor.renew', { code });
      setStep({ kind: 'codes', codes });
    },
    disable: async (code: string) => {
      await call('second_factor.disable', { code });
      close();
    },
  };
  const onCode = (kind: keyof typeof withCode) => (code: string) =>
    attempt(async () => {
      await withCode[kind](code);
      await refresh();
    });

  return (
    <ActionLine
      title={t('personal.secondFactor')}
      text={
        state === undefined ? (
          <Waiting inLine />
        ) : state.enabled ? (
          t('personal.secondOn', { count: state.recovery_codes_left })
        ) : (
          t('personal.secondOff')
        )
      }
    >
      <div className="flex gap-2">
        {state?.enabled ? (
          <>
            <button type="button" className="button" onClick={() => setStep({ kind: 'renew' })}>
              {t('personal.newCodes')}
            </button>
            <button type="button" className="button text-danger" onClick={() => setStep({ kind: 'disable' })}>
              {t('personal.turnOff')}
            </button>
          </>
        ) : (
          <button type="button" className="button" disabled={state === undefined} onClick={begin}>
            {t('personal.turnOn')}
          </button>
        )}
      </div>
      {step === null ? null : (
        <Sheet title={t('personal.secondFactor')} onClose={close}>
          {step.kind === 'codes' ? (
            <>
              <p className="mb-3 text-ink-2">{t('personal.keepCodes')}</p>
              <ul className="mb-3 grid grid-cols-2 gap-1 rounded-3 bg-sunken p-3 font-mono">
                {step.codes.map((code) => (
                  <li key={code}>{code}</li>
                ))}
              </ul>
              <button type="button" className="button" onClick={() => copyOrShow(step.codes.join('\n'))}>
                {t('app.copy')}
              </button>
            </>
          ) : (
            <>
              {step.kind === 'scan' ? (
                <>
                  <p className="mb-3 text-ink-2">{t('personal.scan')}</p>
                  <img
                    src={`data:image/svg+xml,${encodeURIComponent(renderSVG(step.uri, { border: 2 }))}`}
                    alt={t('personal.qrCode')}
                    className="mb-3 size-48"
                  />
                  <p className="mb-4 font-mono text-[12px] break-all">{step.secret}</p>
                </>
              ) : null}
              <CodeForm
                action={step.kind === 'disable' ? t('personal.turnOff') : t('personal.confirm')}
                onCode={onCode(step.kind)}
              />
            </>
          )}
        </Sheet>
      )}
    </ActionLine>
  );
}
