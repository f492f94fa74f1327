import { type FormEvent, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { FailureNote } from '../../components/failure.tsx';
import { Field } from '../../components/form.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call, isAnswered } from '../../lib/api.ts';
import { basePath } from '../../lib/base-path.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { useList } from '../../lib/read.ts';
import { writeUser } from '../../lib/session.ts';
import { codeIn } from './code-in.ts';
import { Step, Steps } from './step.tsx';

const modes = ['external', 'self', 'demo'] as const;
const reloadMs = 1500;

/** Opening the printed link in a page that is already open changes only the fragment. */
function onFragment(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

const linkedCode = (): string => codeIn(location.hash);

type Mode = (typeof modes)[number];

function AccountFields() {
  const { t } = useTranslation();
  return (
    <div className="grid grid-cols-3 gap-x-3 max-sm:grid-cols-1">
      <Field label={t('setup.username')}>
        {(ids) => (
          // biome-ignore lint/a11y/noAutofocus: the page is this form
          <input {...ids} name="username" className="field" autoComplete="username" autoFocus />
        )}
      </Field>
      <Field label={t('setup.password')} help={t('account.passwordHelp')}>
        {(ids) => <input {...ids} name="password" type="password" className="field" autoComplete="new-password" />}
      </Field>
      <Field label={t('setup.confirm')}>
        {(ids) => <input {...ids} name="confirm" type="password" className="field" autoComplete="new-password" />}
      </Field>
    </div>
  );
}

function ModeChoice({ mode, onMode }: { readonly mode: Mode; readonly onMode: (mode: Mode) => void }) {
  const { t } = useTranslation();
  return (
    <fieldset className="mb-2 grid grid-cols-3 gap-2 max-sm:grid-cols-1">
      <legend className="mb-1 text-[12px] font-medium text-ink-2">{t('setup.mode')}</legend>
      {modes.map((one) => (
        <label
          key={one}
          className={`flex gap-3 rounded-2 border px-3 py-2 ${mode === one ? 'border-accent bg-accent-soft' : 'border-line-strong'}`}
        >
          <input
            type="radio"
            name="mode"
            checked={mode === one}
            onChange={() => onMode(one)}
            className="mt-1 accent-(--accent)"
          />
          <span>
            <span className="font-medium">{t(`setup.${one}`)}</span>
            <span className="block text-[12px] text-ink-2">{t(`setup.${one}Help`)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

export function SetupPage() {
  const { t } = useTranslation();
  usePageTitle(t('setup.title'));
  const code = useSyncExternalStore(onFragment, linkedCode, linkedCode);
  const { data: state, failure } = useList({ queryKey: ['setup'], queryFn: () => call('setup.get') });
  const [mode, setMode] = useState<Mode>('external');
  const [error, setError] = useState('');
  const [phase, setPhase] = useState<'open' | 'busy' | 'done'>('open');
  if (state === undefined)
    return (
      <div className="p-5">
        {failure === null ? <Waiting /> : <FailureNote failure={failure} title={t('setup.loadFailed')} />}
      </div>
    );

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '');
    if (!state.root_init) {
      if (text('username').trim() === '') return setError(t('setup.needUsername'));
      if (text('password').length < 8) return setError(t('setup.shortPassword'));
      if (text('password') !== text('confirm')) return setError(t('setup.mismatch'));
    }
    setPhase('busy');
    try {
      await call('setup.run', {
        username: text('username'),
        password: text('password'),
        confirmPassword: text('confirm'),
        code: text('code'),
        SelfUseModeEnabled: mode === 'self',
        DemoSiteEnabled: mode === 'demo',
      });
      setPhase('done');
      if (state.root_init) return void setTimeout(() => location.assign(`${basePath}/login`), reloadMs);
      // A reader who has just chosen a password need not type it again, and goes on with the next step.
      const entered = await call('session.login', {
        username: text('username').trim(),
        password: text('password'),
      }).catch(() => null);
      if (entered !== null && !('ticket' in entered)) {
        writeUser(entered);
        const site = text('site').trim();
        // It can be changed later: what went wrong here stops nobody.
        if (site !== '') await call('option.set', { key: 'SystemName', value: site }).catch(() => null);
      }
      setTimeout(() => location.assign(basePath + (entered === null ? '/login' : '/first')), reloadMs);
    } catch (failure) {
      setPhase('open');
      setError(isAnswered(failure) ? failure.message : t('setup.failed'));
    }
  };

  return (
    <Steps title={t('setup.firstTitle')} states={['open', 'later', 'later', 'later']}>
      <Step state="open" title={t('setup.administrator')} note={t('setup.title')}>
        <form onSubmit={submit} noValidate>
          {state.root_init ? (
            <p className="mb-4 rounded-2 bg-accent-soft px-3 py-2 text-accent-text">{t('setup.rootExists')}</p>
          ) : (
            <AccountFields />
          )}
          {state.code_required ? (
            <Field label={t('setup.code')} help={t('setup.codeHelp')}>
              {(ids) => (
                <input
                  {...ids}
                  key={code}
                  name="code"
                  className="field font-mono"
                  defaultValue={code}
                  autoComplete="off"
                />
              )}
            </Field>
          ) : null}
          <Field label={t('setup.siteName')} help={t('setup.siteNameHelp')}>
            {(ids) => <input {...ids} name="site" className="field" maxLength={100} placeholder="New API" />}
          </Field>
          <ModeChoice mode={mode} onMode={setMode} />
          <p className="mb-4 text-[12px] text-ink-3">
            {t('setup.changeable')} {state.database_type === 'sqlite' ? t('setup.sqlite') : null}
          </p>
          <p
            role={phase === 'done' ? 'status' : 'alert'}
            className={`mb-3 empty:mb-0 ${phase === 'done' ? 'text-success' : 'text-danger'}`}
          >
            {phase === 'done' ? t('setup.done') : error}
          </p>
          <button type="submit" className="button button-primary" disabled={phase !== 'open'}>
            {t('setup.run')}
          </button>
        </form>
      </Step>
      <Step state="later" title={t('setup.upstream')} note={t('setup.upstreamHelp')} />
      <Step state="later" title={t('setup.key')} note={t('setup.keyHelp')} />
      <Step state="later" title={t('setup.waiting')} note={t('setup.waitingHelp')} />
    </Steps>
  );
}
