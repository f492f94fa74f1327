/** Adds a channel or edits one. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { deferredChanges, deferredChangesText } from '../../../server/contract/deferred-changes.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { textIn } from '../../../server/contract/language.ts';
import { type FilterState, stateClasses } from '../../components/channel-traffic.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter } from '../../components/form.tsx';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { leave, sameForm } from '../../lib/dirty-form.ts';
import { ChannelFields } from './channel-fields.tsx';
import {
  badJsonIn,
  type ChannelForm,
  type ChannelType,
  endsInVersion,
  fieldsOf,
  formOf,
  issueOf,
} from './channel-form.ts';
import { ProviderPicker } from './provider-picker.tsx';

export interface ChannelDrawerProps {
  /** null = a new one. */
  readonly channel: Channel | null;
  readonly types: readonly ChannelType[];
  /** How it is doing. */
  readonly state: FilterState;
  readonly onTest: (channel: Channel) => void;
  readonly onClose: () => void;
  readonly onSaved: (fresh: boolean) => void;
}

export function ChannelDrawer({ channel, types, state, onTest, onClose, onSaved }: ChannelDrawerProps) {
  const { t, i18n } = useTranslation();
  const [first, setFirst] = useState(() => formOf(channel));
  const [form, setForm] = useState(first);
  const [hasProvider, setHasProvider] = useState(channel !== null);
  /** A key was pasted for it: its models are asked for at once. */
  const [pasted, setPasted] = useState(false);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [confirm, setConfirm] = useState(false);
  const provider = types.find((one) => one.type === form.type);
  const change = (some: Partial<ChannelForm>) => setForm((before) => ({ ...before, ...some }));

  const submit = () => {
    if (busy) return setError(t('channels.sentAlready'));
    const issue = issueOf(form, channel === null);
    const label = badJsonIn(form);
    if (issue !== null) return setError(t(issue, { name: label === null ? '' : t(label) }));
    if (endsInVersion(form.base_url) && form.base_url !== channel?.base_url) return setConfirm(true);
    void store();
  };
  const store = async () => {
    setConfirm(false);
    setBusy(true);
    const fields = fieldsOf(form);
    try {
      if (channel === null) await call('channel.create', fields);
      else await call('channel.update', { id: channel.id, ...fields });
      const later = deferredChanges(fields);
      if (later.length > 0) toast.warning(deferredChangesText(later, i18n.language));
      onSaved(channel === null);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
    }
  };
  return (
    <Sheet
      title={
        channel === null ? (
          t('channels.add')
        ) : (
          <span className="flex items-center gap-3">
            <span className="sr-only">{t('channels.edit')}: </span>
            <span className="truncate" title={channel.name}>
              {channel.name}
            </span>{' '}
            <span className={`text-[12px] font-normal ${stateClasses[state]}`}>{t(`channels.state.${state}`)}</span>
          </span>
        )
      }
      dirty={!busy && !sameForm(form, first)}
      onClose={onClose}
      footer={
        <>
          {channel === null ? null : (
            <button type="button" className="button mr-auto" onClick={() => leave(() => onTest(channel))}>
              {t('channels.testModels', { count: channel.models.split(',').length })}
            </button>
          )}
          <FormFooter
            form="channel-form"
            action={t('app.save')}
            onClose={onClose}
            aria-disabled={busy}
            disabled={!hasProvider}
          />
        </>
      }
    >
      <CheckedForm id="channel-form" onSubmit={submit}>
        <ProviderPicker
          types={types}
          value={hasProvider ? provider : undefined}
          onChange={(next, key) => {
            setHasProvider(true);
            setPasted(key !== '');
            // A name that was not edited follows the provider.
            const named = form.name !== '' && (provider === undefined || form.name !== textIn(provider, i18n.language));
            const selected = {
              ...form,
              type: next.type,
              ...(channel !== null || named ? {} : { name: textIn(next, i18n.language) }),
            };
            // With nothing typed, another provider is nothing to lose.
            if (channel === null && sameForm(form, first)) setFirst(selected);
            setForm(key === '' ? selected : { ...selected, key });
          }}
        />
        {hasProvider ? <ChannelFields {...{ form, channel, provider, pasted }} onChange={change} /> : null}
        <p role="alert" className="text-danger">
          {error}
        </p>
      </CheckedForm>
      {confirm ? (
        <Confirm
          title={t('channels.v1')}
          text={t('channels.v1Text')}
          action={t('app.save')}
          onClose={() => setConfirm(false)}
          onConfirm={() => void store()}
        />
      ) : null}
    </Sheet>
  );
}
