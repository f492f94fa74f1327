/**
 * A program wants to sign in as the reader: who asks and what it gets, and the decision. It shows a code, which the address may fill
 * in, or it sent the browser here and waits for it at an address of this machine.
 */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { Field, FormError } from '../../components/form.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { AccountCard } from './card.tsx';

type Asked = Pick<OutputOf<EndpointOf<'sign_in.look'>>, 'name' | 'address'> & {
  /** Absent = this machine. */
  readonly host?: string;
};
type Step = { readonly name: 'code' | 'approved' | 'denied' } | { readonly name: 'decide'; readonly asked: Asked };

const shownModels = 5;
const codeInAddress = (): string => new URLSearchParams(location.search).get('user_code') ?? '';

/** As the site's own address for programs wrote it; null = the program shows a code. */
function requestInAddress() {
  const sent = new URLSearchParams(location.search);
  if (!sent.has('redirect_uri')) return null;
  const member = (name: string): string => sent.get(name) ?? '';
  return {
    client_id: member('client_id'),
    redirect_uri: member('redirect_uri'),
    response_type: member('response_type'),
    code_challenge: member('code_challenge'),
    code_challenge_method: member('code_challenge_method'),
    state: member('state'),
  };
}

export function DevicePage() {
  const [request] = useState(requestInAddress);
  return request === null ? <ByCode /> : <ByBrowser request={request} />;
}

function ByBrowser({ request }: { readonly request: NonNullable<ReturnType<typeof requestInAddress>> }) {
  const { t } = useTranslation();
  const [step, setStep] = useState<Step | null>(null);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    call('sign_in.authorize', request).then(
      (asked) => setStep({ name: 'decide', asked }),
      (failure: unknown) => setError(messageOf(failure)),
    );
  }, [request]);
  const decide = async (approve: boolean) => {
    setBusy(true);
    setError('');
    try {
      const { redirect } = await call('sign_in.authorize', { ...request, approve });
      setStep({ name: approve ? 'approved' : 'denied' });
      // To the program, which waits for it.
      location.assign(redirect);
    } catch (failure) {
      setError(messageOf(failure));
    }
    setBusy(false);
  };
  return (
    <AccountCard title={t('device.title')}>
      {step === null ? (
        <FormError text={error} />
      ) : step.name === 'decide' ? (
        <Decision asked={step.asked} error={error} busy={busy} onDecide={decide} />
      ) : (
        <Done text={t(step.name === 'approved' ? 'device.approved' : 'device.denied')} />
      )}
    </AccountCard>
  );
}

function ByCode() {
  const { t } = useTranslation();
  const [code, setCode] = useState(codeInAddress);
  const [step, setStep] = useState<Step>({ name: 'code' });
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<Step>) => {
    setBusy(true);
    setError('');
    try {
      setStep(await work());
    } catch (failure) {
      setError(messageOf(failure));
    }
    setBusy(false);
  };
  const look = (event: FormEvent) => {
    event.preventDefault();
    if (code.trim() === '') return setError(t('device.codeNeeded'));
    void attempt(async () => ({ name: 'decide', asked: await call('sign_in.look', { code }) }));
  };
  const decide = (approve: boolean) =>
    attempt(async () => {
      await call('sign_in.decide', { code, approve });
      return { name: approve ? 'approved' : 'denied' };
    });
  return (
    <AccountCard title={t('device.title')}>
      {step.name === 'code' ? (
        <form onSubmit={look} noValidate>
          <p className="mb-4 text-ink-2">{t('device.help')}</p>
          <Field label={t('device.code')}>
            {(ids) => (
              <input
                {...ids}
                name="code"
                className="field font-mono text-[16px] tracking-widest uppercase"
                value={code}
                onChange={(event) => setCode(event.target.value)}
                placeholder="XXXX-XXXX"
                maxLength={20}
                autoComplete="off"
                autoCapitalize="characters"
                spellCheck={false}
              />
            )}
          </Field>
          <FormError text={error} />
          <button type="submit" className="button button-primary h-8 w-full" disabled={busy}>
            {t('device.next')}
          </button>
        </form>
      ) : step.name === 'decide' ? (
        <Decision asked={step.asked} code={code} error={error} busy={busy} onDecide={decide} />
      ) : (
        <Done text={t(step.name === 'approved' ? 'device.approved' : 'device.denied')} />
      )}
    </AccountCard>
  );
}

interface DecisionProps {
  readonly asked: Asked;
  /** Absent = the program shows none. */
  readonly code?: string;
  readonly error: string;
  readonly busy: boolean;
  readonly onDecide: (approve: boolean) => unknown;
}

function Decision({ asked, code, error, busy, onDecide }: DecisionProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const start = useRef<HTMLHeadingElement>(null);
  // The form is gone: readers of the screen go on with what replaced it, and a second Enter approves nothing.
  useEffect(() => start.current?.focus(), []);
  const self = useOptionalRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const models = useOptionalRead({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const rows = [
    [t('device.program'), asked.name],
    ...(asked.host === undefined ? [] : [[t('device.host'), asked.host] as const]),
    [t('device.address'), asked.address],
    ...(code === undefined ? [] : [[t('device.code'), displayedCode(code)] as const]),
    [t('device.as'), self?.username],
    [t('device.spends'), self === undefined ? undefined : t('device.balance', { amount: money(self.quota) })],
    [t('device.group'), self?.group],
    [t('device.models'), models === undefined ? undefined : modelsText(models, t('device.none'))],
  ] as const;
  return (
    <>
      <h2 ref={start} tabIndex={-1} className="mb-3 font-semibold outline-none">
        {asked.host === undefined
          ? t('device.asksHere', { name: asked.name })
          : t('device.asks', { name: asked.name, host: asked.host })}
      </h2>
      <dl className="mb-4 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        {rows.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-ink-2">{label}</dt>
            <dd className="break-words">{value ?? '–'}</dd>
          </div>
        ))}
      </dl>
      <p className="mb-4 text-ink-2">{t(code === undefined ? 'device.warningHere' : 'device.warning')}</p>
      <FormError text={error} />
      <div className="flex flex-wrap gap-2">
        <button
          type="button"
          className="button button-primary h-8 flex-1"
          disabled={busy}
          onClick={() => onDecide(true)}
        >
          {t('device.approve')}
        </button>
        <button type="button" className="button h-8 flex-1" disabled={busy} onClick={() => onDecide(false)}>
          {t('device.deny')}
        </button>
      </div>
    </>
  );
}

/** As the program writes it, however it was typed. */
const displayedCode = (code: string): string =>
  code
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .replace(/^(.{4})(.{4})$/, '$1-$2');

/** The first few by name, and how many more there are. */
function modelsText(models: readonly string[], none: string): string {
  const more = models.length - shownModels;
  const named = models.slice(0, shownModels).join(', ');
  return models.length === 0 ? none : more > 0 ? `${named} +${grouped(more)}` : named;
}

function Done({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  const start = useRef<HTMLParagraphElement>(null);
  useEffect(() => start.current?.focus(), []);
  return (
    <>
      <p ref={start} tabIndex={-1} role="status" className="mb-4 outline-none">
        {text}
      </p>
      <p className="text-ink-2">
        <Link href="/token">{t('device.toKeys')}</Link>
      </p>
    </>
  );
}
