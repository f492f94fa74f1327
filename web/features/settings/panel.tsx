/** One panel of options with a save of its own. */
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { currentLanguage } from '../../lib/i18n.ts';
import { useUser } from '../../lib/session.ts';
import { OptionField } from './option-field.tsx';
import type { Options } from './use-options.ts';

export interface PanelProps {
  /** For the index. */
  readonly id?: string;
  readonly title: string;
  readonly keys: readonly OptionKey[];
  readonly options: Options;
  /** Shows keys and defaults beside the options. */
  readonly showKey?: boolean;
  /** Inside a frame that has its own border. */
  readonly inner?: boolean;
  /** Actions of the panel that are no options. */
  readonly extra?: ReactNode;
}

export function Panel({ id, title, keys, options, inner = false, showKey = false, extra }: PanelProps) {
  const { t } = useTranslation();
  const language = currentLanguage();
  const role = useUser()?.role ?? 0;
  const [confirm, setConfirm] = useState<OptionKey | null>(null);
  const { stored, changed, errors, valueFor, shownFor } = options;
  const changes = keys.filter((key) => changed.includes(key)).length;
  const change = (key: OptionKey, value: string) => {
    if (optionRow(key).confirm?.value === value) setConfirm(key);
    else options.change(key, value);
  };
  return (
    <CheckedForm
      id={id}
      onSubmit={() => options.save(keys)}
      className={inner ? '' : 'scroll-mt-4 rounded-3 border border-line bg-surface'}
    >
      <header className="flex items-center gap-2 border-b border-line px-4 py-2.5">
        <h2 className={`flex-1 ${inner ? 'text-ink-2' : 'font-semibold'}`}>{title}</h2>
        <button type="submit" className={`button ${changes === 0 ? '' : 'button-primary'}`}>
          {t('app.save')}
        </button>
      </header>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-x-6 px-4 py-3 lg:grid-cols-[repeat(2,minmax(0,1fr))]">
        {keys.map((key) => {
          const { dependsOn, role: needed, secret, fallback } = optionRow(key);
          const isSet = stored.get(key)?.is_set ?? false;
          return (
            <OptionField
              key={key}
              option={key}
              language={language}
              value={shownFor(key)}
              isSet={isSet}
              locked={needed > role || (dependsOn !== null && valueFor(dependsOn as OptionKey) !== 'true')}
              rootOnly={needed > role}
              differs={secret ? isSet : valueFor(key) !== fallback}
              draft={changed.includes(key)}
              showKey={showKey}
              error={errors[key]}
              onChange={(value) => change(key, value)}
              onReset={() => (secret ? undefined : options.reset(key))}
            />
          );
        })}
      </div>
      {extra}
      {confirm === null ? null : (
        <Confirm
          title={textIn(optionRow(confirm).label, language)}
          text={textIn(optionRow(confirm).confirm ?? { zh: '', en: '' }, language)}
          action={t('settings.confirm')}
          onClose={() => setConfirm(null)}
          onConfirm={() => {
            options.change(confirm, optionRow(confirm).confirm?.value ?? '');
            setConfirm(null);
          }}
        />
      )}
    </CheckedForm>
  );
}
