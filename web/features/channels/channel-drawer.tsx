import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { Field } from '../../components/form.tsx';
import { Confirm, Drawer } from '../../components/overlay.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { ChannelAdvanced } from './channel-advanced.tsx';
import {
  type ChannelForm,
  type ChannelType,
  faultOf,
  fieldsOf,
  formOf,
  keysIn,
  settingIn,
  withSetting,
} from './channel-form.ts';
import { ChannelModels } from './channel-models.tsx';
import { ChannelTry } from './channel-try.tsx';
import { namesIn } from './model-list.ts';
import { ProviderPicker } from './provider-picker.tsx';

/** An address that names the version itself. */
const endsInVersion = (address: string): boolean => /\/v1\/?$/.test(address.trim());

export interface ChannelDrawerProps {
  /** null = a new one. */
  readonly channel: Channel | null;
  readonly types: readonly ChannelType[];
  readonly onClose: () => void;
  readonly onSaved: (fresh: boolean) => void;
}

export function ChannelDrawer({ channel, types, onClose, onSaved }: ChannelDrawerProps) {
  const { t } = useTranslation();
  const [form, setForm] = useState(() => formOf(channel));
  const [picked, setPicked] = useState(channel !== null);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const groups = useQuery({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const provider = types.find((one) => one.type === form.type);
  const change = (some: Partial<ChannelForm>) => setForm((before) => ({ ...before, ...some }));
  const models = [...new Set(namesIn(form.models))];
  const hasKey = channel !== null || form.key.trim() !== '';
  const mode = settingIn(form.setting)?.key_mode;
  const line = (
    name: 'name' | 'base_url' | 'other',
    label: string,
    more: { help?: string; placeholder?: string } = {},
  ) => (
    <Field label={label} help={more.help}>
      {(ids) => (
        <input
          {...ids}
          className="field"
          inputMode={name === 'base_url' ? 'url' : undefined}
          placeholder={more.placeholder}
          value={form[name]}
          onChange={(event) => change({ [name]: event.target.value })}
          autoComplete="off"
        />
      )}
    </Field>
  );

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return setError(t('channels.sentAlready'));
    const fault = faultOf(form, channel === null);
    if (fault !== null) return setError(t(fault));
    if (endsInVersion(form.base_url) && form.base_url !== channel?.base_url) return setAsking(true);
    void store();
  };
  const store = async () => {
    setAsking(false);
    setBusy(true);
    const fields = fieldsOf(form, provider);
    try {
      if (channel === null) await call('channel.create', fields);
      else await call('channel.update', { id: channel.id, ...fields });
      onSaved(channel === null);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
    }
  };
  const listed = () =>
    form.key.trim() !== ''
      ? call('channel.fetch_models_for', { type: form.type, base_url: form.base_url, key: form.key })
      : call('channel.fetch_models', { id: channel?.id ?? 0 });

  return (
    <Drawer
      title={channel === null ? t('channels.add') : t('channels.edit')}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {t('app.cancel')}
          </button>
          <button
            type="submit"
            form="channel-form"
            className="button button-primary"
            aria-disabled={busy}
            disabled={!picked}
          >
            {t('app.save')}
          </button>
        </>
      }
    >
      <form id="channel-form" onSubmit={submit} noValidate>
        <ProviderPicker
          types={types}
          value={picked ? provider : undefined}
          onChange={({ type }) => {
            setPicked(true);
            change({ type });
          }}
        />
        {picked ? (
          <>
            {line('name', t('channels.name'))}
            <Field label={t('channels.key')} help={channel === null ? t('channels.keyHelp') : t('channels.keyKeep')}>
              {(ids) => (
                <textarea
                  {...ids}
                  className="field font-mono"
                  rows={2}
                  placeholder={channel?.key_hint ?? provider?.key_hint}
                  value={form.key}
                  onChange={(event) => change({ key: event.target.value })}
                  autoComplete="off"
                  spellCheck={false}
                />
              )}
            </Field>
            {keysIn(form.key).length > 1 || mode !== undefined ? (
              <div className="-mt-2 mb-4">
                <Segment
                  label={t('channels.several')}
                  value={mode === 'random' ? 'random' : mode === undefined ? '' : 'turn'}
                  options={[
                    ...(channel === null ? [['', t('channels.severalApart')] as const] : []),
                    ['turn', t('channels.severalTurn')],
                    ['random', t('channels.severalRandom')],
                  ]}
                  onChange={(next) => change({ setting: withSetting(form.setting, 'key_mode', next) })}
                />
              </div>
            ) : null}
            {line('base_url', t('channels.baseUrl'), {
              help: endsInVersion(form.base_url)
                ? t('channels.v1')
                : t('channels.baseUrlHelp', { url: provider?.base_url ?? '' }),
              ...(provider === undefined ? {} : { placeholder: provider.base_url }),
            })}
            {provider?.other
              ? line('other', provider.other[currentLanguage()], { placeholder: provider.other.fallback })
              : null}
            <ChannelModels
              value={form.models}
              usual={provider?.models ?? []}
              ask={hasKey ? listed : null}
              onChange={(next) => change({ models: next })}
            />
            {hasKey && models.length > 0 ? (
              <ChannelTry
                models={models}
                ask={(model) =>
                  call('channel.try', {
                    ...fieldsOf(form, provider),
                    ...(channel === null ? {} : { id: channel.id }),
                    key: keysIn(form.key)[0],
                    model,
                  })
                }
              />
            ) : null}
            <ChannelAdvanced form={form} provider={provider} groups={groups} onChange={change} />
          </>
        ) : null}
        <p role="alert" className="text-danger">
          {error}
        </p>
      </form>
      {asking ? (
        <Confirm
          title={t('channels.v1')}
          text={t('channels.v1Text')}
          action={t('app.save')}
          onClose={() => setAsking(false)}
          onConfirm={() => void store()}
        />
      ) : null}
    </Drawer>
  );
}
