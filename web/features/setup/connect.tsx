/** A provider's key becomes a channel with every model that the key may use; or the practice upstream does, without one. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isChannelAddress } from '../../../server/contract/channel-address.ts';
import { textIn } from '../../../server/contract/language.ts';
import { Field } from '../../components/form.tsx';
import { MaskedInput } from '../../components/masked-input.tsx';
import { SelectField } from '../../components/select.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { providerOf } from '../../lib/key-provider.ts';
import { useOptionalRead } from '../../lib/read.ts';

interface Connection {
  readonly type: number;
  readonly name: string;
  readonly key: string;
  readonly base_url: string;
  readonly models: readonly string[];
  /** JSON with the proxy; absent = none. */
  readonly setting?: string;
}

/** @returns the name in an address, or the address as it is. */
const hostOf = (address: string): string => URL.parse(address)?.host ?? address;

/** What is wrong with a key is said before anything is stored. @throws Error in the upstream's words. */
async function connect({ models, ...channel }: Connection): Promise<void> {
  const fields = { ...channel, models: models.join(','), group: 'default', auto_ban: 1 };
  const result = await call('channel.try', fields);
  if (!result.success) throw new Error(result.message);
  await call('channel.create', fields);
  const [known] = await call('token.list', { p: 0, size: 1 });
  if (known === undefined) await call('token.create', { name: 'first', unlimited_quota: true, expired_time: -1 });
}

/** How runtimes and the gateway name that nothing answered; people are told in words. */
const isUnreachable = (message: string): boolean =>
  /\bE(?:NOTFOUND|AI_AGAIN|CONN[A-Z]+|TIMEDOUT|HOSTUNREACH|NETUNREACH|PIPE|PROTO)\b|UND_ERR_|getaddrinfo|certificate/.test(
    message,
  );

export function Connect({ onConnected }: { readonly onConnected: () => unknown }) {
  const { t } = useTranslation();
  const [key, setKey] = useState('');
  const [picked, setPicked] = useState('');
  const [address, setAddress] = useState('');
  const [busy, setBusy] = useState(false);
  const [proxy, setProxy] = useState('');
  const [error, setError] = useState('');
  /** The server could not get there: another address or a way out may be needed. */
  const [unreachable, setUnreachable] = useState(false);
  const types = useOptionalRead({
    queryKey: ['channel-types'],
    queryFn: () => call('channel.types'),
    staleTime: 3_600_000,
  }).data;
  const provider = types?.find(({ slug }) => slug === picked) ?? providerOf(key, types ?? []) ?? types?.[0];
  const wantsAddress = provider?.base_url === '' || unreachable;

  const attempt = async (work: () => Promise<Connection>) => {
    setError('');
    setBusy(true);
    try {
      await connect(await work());
      await onConnected();
    } catch (failure) {
      const message = messageOf(failure);
      const away = isUnreachable(message);
      if (away) setUnreachable(true);
      setError(away ? t('setup.unreachable', { host: hostOf(address || provider?.base_url || '') }) : message);
    } finally {
      setBusy(false);
    }
  };
  const practice = () =>
    attempt(async () => ({ ...(await call('channel.practice')), name: 'practice', key: 'practice' }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (provider === undefined) return;
    if (key.trim() === '') return setError(t('setup.needKey'));
    if (address.trim() !== '' && !isChannelAddress(address.trim())) return setError(t('setup.badAddress'));
    void attempt(async () => {
      const { type } = provider;
      const channel = {
        type,
        name: provider.slug,
        key: key.trim(),
        base_url: address.trim().replace(/\/$/, ''),
        ...(proxy.trim() === '' ? {} : { setting: JSON.stringify({ proxy: proxy.trim() }) }),
      };
      const found = await call('channel.fetch_models_for', channel).catch(() => []);
      return { ...channel, models: found.length > 0 ? found : provider.models };
    });
  };

  return (
    <form onSubmit={submit} noValidate>
      <div className="grid grid-cols-[minmax(0,2fr)_minmax(0,1fr)] gap-3 max-sm:grid-cols-1">
        <Field label={t('setup.providerKey')} help={t('setup.providerKeyHelp')}>
          {(ids) => (
            <MaskedInput
              {...ids}
              label={t('setup.providerKey')}
              className="field font-mono"
              autoComplete="off"
              placeholder={provider?.key_hint}
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          )}
        </Field>
        <SelectField
          label={t('setup.provider')}
          value={provider?.slug ?? ''}
          options={(types ?? []).map((one) => [one.slug, textIn(one, currentLanguage())] as const)}
          onChange={setPicked}
        />
      </div>
      {wantsAddress ? (
        <Field label={t('setup.address')}>
          {(ids) => (
            <input
              {...ids}
              className="field font-mono"
              placeholder={provider?.base_url || 'https://'}
              value={address}
              onChange={(event) => setAddress(event.target.value)}
            />
          )}
        </Field>
      ) : null}
      {unreachable ? (
        <Field label={t('setup.proxy')} help={t('setup.proxyHelp')}>
          {(ids) => (
            <input
              {...ids}
              className="field font-mono"
              placeholder="http://127.0.0.1:7890"
              value={proxy}
              onChange={(event) => setProxy(event.target.value)}
            />
          )}
        </Field>
      ) : null}
      <p role="alert" className={error === '' ? 'sr-only' : 'mb-3 break-words text-danger'}>
        {error}
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <button type="submit" className="button button-primary" disabled={busy}>
          {busy ? t('setup.connecting') : t('setup.connect')}
        </button>
        <button type="button" className="button" disabled={busy} onClick={practice}>
          {t('setup.practice')}
        </button>
        <p className="text-[12px] text-ink-3">{t('setup.practiceHelp')}</p>
      </div>
    </form>
  );
}
