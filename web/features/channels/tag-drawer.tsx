/** Changes every channel of a tag; what is left blank stays. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { parseNumber } from '../../../server/contract/amount.ts';
import { valueIn } from '../../components/amount.ts';
import { NumberField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter, TextField } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { sameForm } from '../../lib/dirty-form.ts';
import type { ChannelActions } from './actions.ts';
import { priorityBounds, weightBounds } from './channel-form.ts';
import { isJsonObject } from './json.ts';
import type { TagRow } from './tag-rows.ts';

export interface TagDrawerProps {
  readonly row: TagRow;
  readonly actions: ChannelActions;
  readonly onClose: () => void;
}

export function TagDrawer({ row, actions, onClose }: TagDrawerProps) {
  const { t } = useTranslation();
  const [first] = useState({
    new_tag: row.tag,
    priority: '',
    weight: '',
    models: '',
    groups: '',
    model_mapping: '',
  });
  const [form, setForm] = useState(first);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const submit = async () => {
    const { priority, weight, model_mapping: mapping } = form;
    if (mapping.trim() !== '' && !isJsonObject(mapping)) return setError(t('channels.badMapping'));
    const renamed = form.new_tag !== row.tag;
    if (!renamed && Object.entries(form).every(([name, value]) => name === 'new_tag' || value === ''))
      return toast.warning(t('channels.nothingChanged'));
    const text = (value: string) => (value === '' ? undefined : value);
    setBusy(true);
    const done = await actions.run(
      () =>
        call('channel.tag_edit', {
          tag: row.tag,
          new_tag: renamed ? form.new_tag : undefined,
          priority: priority.trim() === '' ? undefined : valueIn(parseNumber(priority, priorityBounds)),
          weight: weight.trim() === '' ? undefined : valueIn(parseNumber(weight, weightBounds)),
          models: text(form.models),
          groups: text(form.groups),
          model_mapping: text(mapping),
        }),
      t('channels.updatedOk'),
    );
    if (done) onClose();
    else setBusy(false);
  };
  const field = (name: keyof typeof form, label: string, help?: string) => (
    <TextField label={label} help={help} value={form[name]} onChange={(value) => setForm({ ...form, [name]: value })} />
  );
  return (
    <Sheet
      title={t('channels.editTag', { tag: row.tag })}
      onClose={onClose}
      footer={<FormFooter form="tag-form" action={t('app.save')} onClose={onClose} disabled={busy} />}
      dirty={!busy && !sameForm(form, first)}
    >
      <CheckedForm id="tag-form" onSubmit={submit}>
        <p className="mb-3 text-ink-2">{t('channels.tagHelp', { count: row.channels.length })}</p>
        {field('new_tag', t('channels.tag'), t('channels.dissolve'))}
        <NumberField
          label={t('channels.priority')}
          empty={t('channels.asItIs')}
          bounds={priorityBounds}
          words={() => t('channels.priorityWhole')}
          value={form.priority}
          onChange={(priority) => setForm({ ...form, priority })}
        />
        <NumberField
          label={t('channels.weight')}
          empty={t('channels.asItIs')}
          bounds={weightBounds}
          words={() => t('channels.weightWhole')}
          value={form.weight}
          onChange={(weight) => setForm({ ...form, weight })}
        />
        {field('models', t('channels.models'))}
        {field('groups', t('channels.group'))}
        {field('model_mapping', t('channels.mapping'), t('channels.mappingHelp'))}
        <p role="alert" className="text-danger">
          {error}
        </p>
      </CheckedForm>
    </Sheet>
  );
}
