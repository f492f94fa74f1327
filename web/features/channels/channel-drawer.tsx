import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { Field } from '../../components/form.tsx';
import { Confirm, Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { ChannelModels } from './channel-models.tsx';
import { isJsonObject } from './json.ts';
import { namesIn } from './model-list.ts';

export interface ChannelType {
  readonly type: number;
  readonly slug: string;
  readonly zh: string;
  readonly en: string;
  readonly base_url: string;
  readonly key_hint: string;
  readonly models: readonly string[];
  /** What the channel's own field means here, and what empty stands for. */
  readonly other: { readonly zh: string; readonly en: string; readonly fallback: string } | null;
}

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
  const [form, setForm] = useState({
    type: channel?.type ?? 1,
    name: channel?.name ?? '',
    key: '',
    base_url: channel?.base_url ?? '',
    other: channel?.other ?? '',
    models: channel?.models ?? '',
    group: channel?.group ?? 'default',
    model_mapping: channel?.model_mapping ?? '',
    priority: String(channel?.priority ?? 0),
    weight: String(channel?.weight ?? 0),
    tag: channel?.tag ?? '',
  });
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const provider = types.find((one) => one.type === form.type);
  const set = (name: keyof typeof form) => (event: { readonly target: { readonly value: string } }) =>
    setForm({ ...form, [name]: event.target.value });

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return setError(t('channels.sentAlready'));
    if (channel === null && (form.name.trim() === '' || form.key.trim() === ''))
      return setError(t('channels.required'));
    if (namesIn(form.models).length === 0) return setError(t('channels.modelsRequired'));
    if (form.model_mapping.trim() !== '' && !isJsonObject(form.model_mapping))
      return setError(t('channels.badMapping'));
    if (endsInVersion(form.base_url) && form.base_url !== channel?.base_url) return setAsking(true);
    void store();
  };
  const store = async () => {
    setAsking(false);
    setBusy(true);
    const fields = {
      ...form,
      base_url: form.base_url.trim().replace(/\/$/, ''),
      models: namesIn(form.models).join(','),
      other: form.other.trim() === '' ? (provider?.other?.fallback ?? '') : form.other.trim(),
      key: form.key === '' ? undefined : form.key,
      priority: Number.parseInt(form.priority, 10) || 0,
      weight: Math.max(0, Number.parseInt(form.weight, 10) || 0),
    };
    try {
      if (channel === null) await call('channel.create', fields);
      else await call('channel.update', { id: channel.id, ...fields });
      onSaved(channel === null);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
    }
  };

  return (
    <Drawer
      title={channel === null ? t('channels.add') : t('channels.edit')}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {t('app.cancel')}
          </button>
          <button type="submit" form="channel-form" className="button button-primary" aria-disabled={busy}>
            {t('app.save')}
          </button>
        </>
      }
    >
      <form id="channel-form" onSubmit={submit} noValidate>
        <Field label={t('channels.type')}>
          {(ids) => (
            <select
              {...ids}
              className="field"
              value={form.type}
              onChange={(event) => setForm({ ...form, type: Number(event.target.value) })}
            >
              {types.map((one) => (
                <option key={one.type} value={one.type}>
                  {one[currentLanguage()]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('channels.name')}>
          {(ids) => <input {...ids} className="field" value={form.name} onChange={set('name')} autoComplete="off" />}
        </Field>
        <Field label={t('channels.key')} help={channel === null ? t('channels.keyHelp') : t('channels.keyKeep')}>
          {(ids) => (
            <textarea
              {...ids}
              className="field font-mono"
              rows={2}
              placeholder={channel?.key_hint ?? provider?.key_hint}
              value={form.key}
              onChange={set('key')}
              autoComplete="off"
              spellCheck={false}
            />
          )}
        </Field>
        <Field
          label={t('channels.baseUrl')}
          help={
            endsInVersion(form.base_url)
              ? t('channels.v1')
              : t('channels.baseUrlHelp', { url: provider?.base_url ?? '' })
          }
        >
          {(ids) => (
            <input
              {...ids}
              className="field"
              inputMode="url"
              placeholder={provider?.base_url}
              value={form.base_url}
              onChange={set('base_url')}
            />
          )}
        </Field>
        {provider?.other ? (
          <Field label={provider.other[currentLanguage()]}>
            {(ids) => (
              <input
                {...ids}
                className="field"
                placeholder={provider.other?.fallback}
                value={form.other}
                onChange={set('other')}
              />
            )}
          </Field>
        ) : null}
        <ChannelModels
          value={form.models}
          usual={provider?.models ?? []}
          ask={
            form.key.trim() !== ''
              ? () =>
                  call('channel.fetch_models_for', {
                    type: form.type,
                    base_url: form.base_url,
                    key: form.key,
                  })
              : channel === null
                ? null
                : () => call('channel.fetch_models', { id: channel.id })
          }
          onChange={(models) => setForm({ ...form, models })}
        />
        <Field label={t('channels.group')}>
          {(ids) => <input {...ids} className="field" value={form.group} onChange={set('group')} />}
        </Field>
        <Field label={t('channels.mapping')} help={t('channels.mappingHelp')}>
          {(ids) => (
            <textarea
              {...ids}
              className="field font-mono"
              rows={3}
              value={form.model_mapping}
              onChange={set('model_mapping')}
              spellCheck={false}
            />
          )}
        </Field>
        <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
          <Field label={t('channels.priority')}>
            {(ids) => (
              <input {...ids} className="field" inputMode="numeric" value={form.priority} onChange={set('priority')} />
            )}
          </Field>
          <Field label={t('channels.weight')}>
            {(ids) => (
              <input {...ids} className="field" inputMode="numeric" value={form.weight} onChange={set('weight')} />
            )}
          </Field>
          <Field label={t('channels.tag')}>
            {(ids) => <input {...ids} className="field" value={form.tag} onChange={set('tag')} />}
          </Field>
        </div>
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
