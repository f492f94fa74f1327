/** Changes every channel of a tag; what is left blank stays. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field } from '../../components/form.tsx';
import { Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import type { ChannelActions } from './actions.ts';
import { isJsonObject } from './json.ts';
import type { TagRow } from './tag-rows.ts';

export interface TagDrawerProps {
  readonly row: TagRow;
  readonly actions: ChannelActions;
  readonly onClose: () => void;
}

export function TagDrawer({ row, actions, onClose }: TagDrawerProps) {
  const { t } = useTranslation();
  const [form, setForm] = useState({
    new_tag: row.tag,
    priority: '',
    weight: '',
    models: '',
    groups: '',
    model_mapping: '',
  });
  const [error, setError] = useState('');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { priority, weight, model_mapping: mapping } = form;
    if (priority !== '' && !/^-?\d+$/.test(priority)) return setError(t('channels.priorityWhole'));
    if (weight !== '' && !/^\d+$/.test(weight)) return setError(t('channels.weightWhole'));
    if (mapping.trim() !== '' && !isJsonObject(mapping)) return setError(t('channels.badMapping'));
    const renamed = form.new_tag !== row.tag;
    if (!renamed && Object.entries(form).every(([name, value]) => name === 'new_tag' || value === ''))
      return toast.warning(t('channels.nothingChanged'));
    const text = (value: string) => (value === '' ? undefined : value);
    const done = await actions.run(
      () =>
        call('channel.tag_edit', {
          tag: row.tag,
          new_tag: renamed ? form.new_tag : undefined,
          priority: priority === '' ? undefined : Number(priority),
          weight: weight === '' ? undefined : Number(weight),
          models: text(form.models),
          groups: text(form.groups),
          model_mapping: text(mapping),
        }),
      t('channels.updatedOk'),
    );
    if (done) onClose();
  };
  const field = (name: keyof typeof form, label: string, help?: string) => (
    <Field label={label} help={help}>
      {(ids) => (
        <input
          {...ids}
          className="field"
          value={form[name]}
          onChange={(event) => setForm({ ...form, [name]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <Drawer
      title={t('channels.editTag', { tag: row.tag })}
      onClose={onClose}
      footer={
        <button type="submit" form="tag-form" className="button button-primary">
          {t('app.save')}
        </button>
      }
    >
      <form id="tag-form" onSubmit={submit} noValidate>
        <p className="mb-3 text-ink-2">{t('channels.tagHelp', { count: row.channels.length })}</p>
        {field('new_tag', t('channels.tag'), t('channels.dissolve'))}
        {field('priority', t('channels.priority'))}
        {field('weight', t('channels.weight'))}
        {field('models', t('channels.models'))}
        {field('groups', t('channels.group'))}
        {field('model_mapping', t('channels.mapping'), t('channels.mappingHelp'))}
        <p role="alert" className="text-danger">
          {error}
        </p>
      </form>
    </Drawer>
  );
}
