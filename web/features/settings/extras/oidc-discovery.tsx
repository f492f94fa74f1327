/** Reads a provider's discovery document and stores the three endpoints it names. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field } from '../../../components/form.tsx';
import { call } from '../../../lib/api.ts';
import { attempt } from '../../../lib/attempt.ts';
import { isRoot, useUser } from '../../../lib/session.ts';

export interface OidcDiscoveryProps {
  /** The address that is stored. */
  readonly stored: string;
  readonly onSaved: () => void;
}

export function OidcDiscovery({ stored, onSaved }: OidcDiscoveryProps) {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const [address, setAddress] = useState(stored);
  const read = async () => {
    const url = address.trim();
    if (!/^https?:\/\//.test(url)) return void toast.error(t('settings.oidcAddress'));
    const done = await attempt(async () => {
      const endpoints = await call('option.oidc_discovery', { url });
      await call('option.set', { key: 'oidc.well_known', value: url });
      for (const [name, value] of Object.entries(endpoints)) await call('option.set', { key: `oidc.${name}`, value });
    }, t('settings.oidcDone'));
    if (done) onSaved();
  };
  return (
    <div className="flex flex-wrap items-end gap-x-3 border-t border-line px-4 pt-3">
      <div className="min-w-0 flex-1">
        <Field label={t('settings.oidc')} help={t('settings.oidcHelp')}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              inputMode="url"
              placeholder="https://id.example.com/.well-known/openid-configuration"
              disabled={!root}
              value={address}
              onChange={(event) => setAddress(event.target.value)}
            />
          )}
        </Field>
      </div>
      <button type="button" className="button mb-9 h-8" disabled={!root} onClick={read}>
        {t('settings.oidcRead')}
      </button>
    </div>
  );
}
