/** The fields of a channel whose kind is known. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { keysIn } from '../../../server/contract/channel-keys.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { textIn } from '../../../server/contract/language.ts';
import { Field, TextField } from '../../components/form.tsx';
import { MaskedLines } from '../../components/masked-input.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { ChannelAdvanced } from './channel-advanced.tsx';
import {
  type ChannelForm,
  type ChannelType,
  endsInVersion,
  fieldsOf,
  isAddressOrBlank,
  settingIn,
  withSetting,
} from './channel-form.ts';
import { ChannelKeys } from './channel-keys.tsx';
import { ChannelModels } from './channel-models.tsx';
import { ChannelTry } from './channel-try.tsx';
import { namesIn } from './model-list.ts';
import { UnsupportedMembers } from './unsupported-members.tsx';

export interface ChannelFieldsProps {
  readonly form: ChannelForm;
  /** null = a new one. */
  readonly channel: Channel | null;
  readonly provider: ChannelType | undefined;
  /** The key was pasted to find the provider. */
  readonly pasted?: boolean;
  readonly onChange: (change: Partial<ChannelForm>) => void;
}

function KeyFields({ form, channel, provider, onChange: change }: ChannelFieldsProps) {
  const { t } = useTranslation();
  const mode = settingIn(form.setting)?.key_mode;
  const [replacing, setReplacing] = useState(channel === null || location.hash === '#key' || form.key !== '');
  return (
    <>
      {replacing ? null : (
        <Field label={t('channels.key')} help={t('channels.keySaved')}>
          {(ids) => (
            <span className="flex gap-2">
              <input
                {...ids}
                readOnly
                className="field bg-sunken font-mono text-ink-2"
                value={channel?.key_hint ?? ''}
              />
              <button type="button" className="button h-8 max-sm:h-11!" onClick={() => setReplacing(true)}>
                {t('channels.replaceKey')}
              </button>
            </span>
          )}
        </Field>
      )}
      {!replacing ? null : (
        <Field label={t('channels.key')} help={channel === null ? t('channels.keyHelp') : t('channels.keyKeep')}>
          {(ids) => (
            <MaskedLines
              {...ids}
              label={t('channels.key')}
              className="field font-mono"
              rows={2}
              data-autofocus={location.hash === '#key' || undefined}
              autoFocus={channel !== null}
              placeholder={channel?.key_hint ?? provider?.key_hint}
              value={form.key}
              onChange={(event) => change({ key: event.target.value })}
            />
          )}
        </Field>
      )}
      {channel === null || (mode === undefined && channel.keys_off === undefined) ? null : (
        <ChannelKeys channelId={channel.id} />
      )}
      {channel === null ? null : <UnsupportedMembers channelId={channel.id} />}
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
    </>
  );
}

/** The models of a channel, and a request to one of them. */
function ModelFields({ form, channel, provider, pasted = false, onChange: change }: ChannelFieldsProps) {
  const models = [...new Set(namesIn(form.models))];
  const hasKey = channel !== null || form.key.trim() !== '';
  const listed = () =>
    form.key.trim() !== ''
      ? call('channel.fetch_models_for', { type: form.type, base_url: form.base_url, key: form.key })
      : call('channel.fetch_models', { id: channel?.id ?? 0 });
  return (
    <>
      <ChannelModels
        value={form.models}
        key={form.type}
        common={provider?.models ?? []}
        atOnce={pasted}
        ask={hasKey ? listed : null}
        onChange={(next) => change({ models: next })}
      />
      {hasKey && models.length > 0 ? (
        <ChannelTry
          models={models}
          ask={(model) =>
            call('channel.try', {
              ...fieldsOf(form),
              ...(channel === null ? {} : { id: channel.id }),
              key: keysIn(form.key)[0],
              model,
            })
          }
        />
      ) : null}
    </>
  );
}

export function ChannelFields({ form, channel, provider, pasted, onChange }: ChannelFieldsProps) {
  const { t } = useTranslation();
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const line = (
    name: 'name' | 'base_url' | 'other',
    label: string,
    more: { help?: string; placeholder?: string; error?: string | undefined; unreadable?: boolean } = {},
  ) => (
    <TextField
      {...more}
      label={label}
      inputMode={name === 'base_url' ? 'url' : undefined}
      value={form[name]}
      onChange={(value) => onChange({ [name]: value })}
      autoComplete="off"
    />
  );
  return (
    <>
      {line('name', t('channels.name'))}
      <KeyFields {...{ form, channel, provider, onChange }} />
      {line('base_url', t('channels.baseUrl'), {
        help: endsInVersion(form.base_url)
          ? t('channels.v1')
          : t('channels.baseUrlHelp', { url: provider?.base_url ?? '' }),
        unreadable: !isAddressOrBlank(form.base_url),
        // While it is typed, the beginning of an address is none.
        error:
          isAddressOrBlank(form.base_url) || 'https://'.startsWith(form.base_url)
            ? undefined
            : t('channels.badAddress'),
        ...(provider === undefined ? {} : { placeholder: provider.base_url }),
      })}
      {provider?.other
        ? line('other', textIn(provider.other, currentLanguage()), { placeholder: provider.other.fallback })
        : null}
      <ModelFields {...{ form, channel, provider, pasted, onChange }} />
      <ChannelAdvanced {...{ form, provider, groups, onChange }} />
    </>
  );
}
