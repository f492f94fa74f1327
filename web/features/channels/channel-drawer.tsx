import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { actsLater, actsLaterWords } from '../../../server/contract/acts-later.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { FormFooter } from '../../components/form.tsx';
import { Confirm, Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { ChannelFields } from './channel-fields.tsx';
import { type ChannelForm, type ChannelType, endsInVersion, faultOf, fieldsOf, formOf } from './channel-form.ts';
import { ProviderPicker } from './provider-picker.tsx';

export interface ChannelDrawerProps {
  /** null = a new one. */
  readonly channel: Channel | null;
  readonly types: readonly ChannelType[];
  readonly onClose: () => void;
  readonly onSaved: (fresh: boolean) => void;
}

export function ChannelDrawer({ channel, types, onClose, onSaved }: ChannelDrawerProps) {
  const { t, i18n } = useTranslation();
  const [form, setForm] = useState(() => formOf(channel));
  const [picked, setPicked] = useState(channel !== null);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const provider = types.find((one) => one.type === form.type);
  const change = (some: Partial<ChannelForm>) => setForm((before) => ({ ...before, ...some }));

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
    const fields = fieldsOf(form);
    try {
      if (channel === null) await call('channel.create', fields);
      else await call('channel.update', { id: channel.id, ...fields });
      const later = actsLater(fields);
      if (later.length > 0) toast.warning(actsLaterWords(later, i18n.language.startsWith('zh') ? 'zh' : 'en'));
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
        <FormFooter
          form="channel-form"
          action={t('app.save')}
          onClose={onClose}
          aria-disabled={busy}
          disabled={!picked}
        />
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
        {picked ? <ChannelFields form={form} channel={channel} provider={provider} onChange={change} /> : null}
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
