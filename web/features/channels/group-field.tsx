/** Groups that may use a channel: typed, or switched on and off. */
import { useTranslation } from 'react-i18next';
import { Field } from '../../components/form.tsx';
import type { ChannelForm } from './channel-form.ts';
import { namesIn } from './model-list.ts';

export interface GroupFieldProps {
  readonly form: ChannelForm;
  readonly groups: readonly string[];
  readonly onChange: (change: Partial<ChannelForm>) => void;
}

export function GroupField({ form, groups, onChange }: GroupFieldProps) {
  const { t } = useTranslation();
  const ownGroups = namesIn(form.group);
  return (
    <Field label={t('channels.group')} help={t('channels.groupHelp')}>
      {(ids) => (
        <>
          <input
            {...ids}
            className="field"
            value={form.group}
            onChange={(event) => onChange({ group: event.target.value })}
          />
          <span className="flex flex-wrap gap-1">
            {groups.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={ownGroups.includes(name)}
                className={`h-6 rounded-1 px-2 text-[12px] max-sm:h-9 ${ownGroups.includes(name) ? 'bg-accent-soft text-accent-text' : 'bg-sunken text-ink-2'}`}
                onClick={() =>
                  onChange({
                    group: (ownGroups.includes(name)
                      ? ownGroups.filter((one) => one !== name)
                      : [...ownGroups, name]
                    ).join(','),
                  })
                }
              >
                {name}
              </button>
            ))}
          </span>
        </>
      )}
    </Field>
  );
}
