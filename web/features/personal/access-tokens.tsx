/** Access tokens with scopes: for programs that manage the gateway, each with no more rights than it needs. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { scopes as allScopes, type Scope } from '../../../server/contract/scopes.ts';
import { Card } from '../../components/card.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { TextField } from '../../components/form.tsx';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { SelectField } from '../../components/select.tsx';
import { useForm } from '../../components/use-form.ts';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';

/** Days, 0 = never. */
const durations = [30, 90, 365, 0] as const;
const daySeconds = 86_400;

function NewToken({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: () => void }) {
  const { t } = useTranslation();
  const [made, setMade] = useState<string | null>(null);
  const { typed, change, field, ...form } = useForm(
    () => ({ name: '', scopes: ['read'] as readonly Scope[], days: String(durations[0]) }),
    async ({ name, scopes, days }) => {
      const { token } = await call('access_token.create', {
        name,
        scopes: scopes.join(','),
        expired_time: days === '0' ? -1 : Math.floor(Date.now() / 1000) + Number(days) * daySeconds,
      });
      setMade(token);
      onMade();
    },
  );
  const toggle = (scope: Scope, on: boolean) =>
    change({ scopes: on ? [...typed.scopes, scope] : typed.scopes.filter((one) => one !== scope) });
  return (
    <Sheet title={t('personal.newAccessToken')} onClose={onClose}>
      {made === null ? (
        <CheckedForm onSubmit={form.submit}>
          <TextField label={t('tokens.name')} maxLength={40} autoComplete="off" {...field('name')} />
          <fieldset className="mb-4">
            <legend className="mb-1 text-[12px] leading-4 font-medium text-ink-2">{t('personal.scopes')}</legend>
            <ul className="grid grid-cols-2 gap-x-3">
              {allScopes.map((scope) => (
                <li key={scope}>
                  <label className="flex h-7 items-center gap-2 font-mono text-[12px]">
                    <input
                      type="checkbox"
                      className="size-4 accent-(--accent)"
                      checked={typed.scopes.includes(scope)}
                      onChange={(event) => toggle(scope, event.target.checked)}
                    />
                    {scope}
                  </label>
                </li>
              ))}
            </ul>
            <p className="mt-1 text-[12px] text-ink-3">{t('personal.scopesHelp')}</p>
          </fieldset>
          <SelectField
            label={t('tokens.expires')}
            {...field('days')}
            options={durations.map((life) => [
              String(life),
              life === 0 ? t('tokens.never') : t('personal.days', { count: life }),
            ])}
          />
          <p role="alert" className="mb-3 text-danger">
            {form.error}
          </p>
          <button type="submit" className="button button-primary">
            {t('personal.createToken')}
          </button>
        </CheckedForm>
      ) : (
        <>
          <p className="mb-3 text-ink-2">{t('personal.toldOnce')}</p>
          <code className="mb-3 block rounded-2 bg-sunken p-3 font-mono text-[12px] break-all">{made}</code>
          <button type="button" className="button" onClick={() => copyOrShow(made)}>
            {t('app.copy')}
          </button>
        </>
      )}
    </Sheet>
  );
}

export function AccessTokens() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const read = useRead({ queryKey: ['access-tokens'], queryFn: () => call('access_token.list') }).data;
  const list = read ?? [];
  const [making, setMaking] = useState(false);
  const [removing, setRemoving] = useState<(typeof list)[number] | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['access-tokens'] });
  return (
    <Card title={t('personal.accessTokens')}>
      {read === undefined ? (
        <Waiting />
      ) : list.length === 0 ? (
        <p className="mb-3 text-ink-2">{t('personal.noAccessTokens')}</p>
      ) : null}
      <ul className="mb-3">
        {list.map((row) => (
          <li key={row.id} className="flex min-h-10 items-center gap-3 border-b border-line">
            <span className="min-w-0 flex-1">
              <span className="font-medium text-ink-1">{row.name}</span>{' '}
              <code className="font-mono text-[12px] text-ink-3">{row.hint}</code>
              <span className="block truncate text-[12px] text-ink-3">
                {row.scopes.join(' ')}
                {' · '}
                {row.last_used_time === 0
                  ? t('personal.neverUsed')
                  : t('personal.lastUsed', { time: dateTime(row.last_used_time) })}
                {' · '}
                {row.expired_time === -1
                  ? t('tokens.never')
                  : t('personal.until', { time: dateTime(row.expired_time) })}
              </span>
            </span>
            <button
              type="button"
              className="button button-ghost text-danger"
              aria-label={t('personal.removeToken', { name: row.name })}
              onClick={() => setRemoving(row)}
            >
              {t('app.delete')}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" className="button" onClick={() => setMaking(true)}>
        {t('personal.newAccessToken')}
      </button>
      {making ? <NewToken onClose={() => setMaking(false)} onMade={() => void refresh()} /> : null}
      {removing === null ? null : (
        <Confirm
          title={t('personal.removeToken', { name: removing.name })}
          text={t('personal.removeTokenText')}
          action={t('app.delete')}
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const { id } = removing;
            setRemoving(null);
            await attempt(() => call('access_token.delete', { id }));
            await refresh();
          }}
        />
      )}
    </Card>
  );
}
