/** What most channels leave as it is. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../../components/icon.tsx';
import { AdvancedFields } from './advanced-fields.tsx';
import type { ChannelForm, ChannelType } from './channel-form.ts';
import { GroupField } from './group-field.tsx';

export interface ChannelAdvancedProps {
  readonly form: ChannelForm;
  readonly provider: ChannelType | undefined;
  readonly groups: readonly string[];
  readonly onChange: (change: Partial<ChannelForm>) => void;
}

export function ChannelAdvanced({ form, provider, groups, onChange }: ChannelAdvancedProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <GroupField form={form} groups={groups} onChange={onChange} />
      <button
        type="button"
        className="button button-ghost mb-3 -ml-2"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span className={open ? '' : '-rotate-90'}>
          <Icon name="down" />
        </span>
        {t('channels.advanced')}
      </button>
      {open ? <AdvancedFields form={form} provider={provider} onChange={onChange} /> : null}
    </>
  );
}
