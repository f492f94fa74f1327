/** What is on or off for a channel. */
import { useTranslation } from 'react-i18next';
import { type ChannelForm, settingIn, withSetting } from './channel-form.ts';

export interface ChannelOptionsProps {
  readonly form: ChannelForm;
  readonly onChange: (change: Partial<ChannelForm>) => void;
}

export function ChannelOptions({ form, onChange }: ChannelOptionsProps) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const put = (name: string, value: boolean) => onChange({ setting: withSetting(form.setting, name, value) });
  const flag = (label: string, help: string, on: boolean, change: (on: boolean) => void) => (
    <label className="flex gap-2 py-1.5">
      <input
        type="checkbox"
        className="mt-0.5 size-4 flex-none accent-(--accent)"
        checked={on}
        disabled={setting === null}
        onChange={(event) => change(event.target.checked)}
      />
      <span>
        {label}
        <span className="block text-[12px] leading-4 text-ink-3">{help}</span>
      </span>
    </label>
  );
  return (
    <fieldset className="mb-4 border-t border-line pt-2">
      <legend className="sr-only">{t('channels.switches')}</legend>
      {flag(t('channels.autoBan'), t('channels.autoBanHelp'), form.auto_ban, (on) => onChange({ auto_ban: on }))}
      {flag(t('channels.passThrough'), t('channels.passThroughHelp'), setting?.pass_through === true, (on) =>
        put('pass_through', on),
      )}
      {flag(t('channels.forceFormat'), t('channels.forceFormatHelp'), setting?.force_format === true, (on) =>
        put('force_format', on),
      )}
      {flag(t('channels.thinking'), t('channels.thinkingHelp'), setting?.thinking_to_content === true, (on) =>
        put('thinking_to_content', on),
      )}
      {flag(t('channels.tiers'), t('channels.tiersHelp'), setting?.allow_tiers === true, (on) =>
        put('allow_tiers', on),
      )}
      {flag(t('channels.cacheMarks'), t('channels.cacheMarksHelp'), setting?.cache_marks === true, (on) =>
        put('cache_marks', on),
      )}
      {flag(t('channels.drain'), t('channels.drainHelp'), setting?.drain === true, (on) => put('drain', on))}
    </fieldset>
  );
}
