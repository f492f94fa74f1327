/** One panel with its own save: only what was changed is sent, switches first. */

import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Language } from '../../../server/contract/enums.ts';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { CheckedForm } from '../../components/checked-form.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { call, isAnswered } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { useUser } from '../../lib/session.ts';
import { useUnsaved } from '../../lib/unsaved.ts';
import { useMoneyFacts } from '../../shell/money.ts';
import { OptionField } from './option-field.tsx';
import { shownAs, storedAs } from './typed-option.ts';

export interface Stored {
  readonly value: string;
  readonly is_set: boolean;
}

export interface PanelProps {
  readonly title: string;
  readonly keys: readonly OptionKey[];
  readonly stored: ReadonlyMap<string, Stored>;
  readonly language: Language;
  readonly onSaved: () => void;
  /** Keys and defaults are told with the options. */
  readonly technical?: boolean;
  /** Inside a frame that has its own border. */
  readonly inner?: boolean;
  /** Actions of the panel that are no options. */
  readonly extra?: ReactNode;
}

export function Panel({ title, keys, stored, language, onSaved, inner = false, technical = false, extra }: PanelProps) {
  const { t } = useTranslation();
  const role = useUser()?.role ?? 0;
  const facts = useMoneyFacts();
  /** As they are typed. */
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>({});
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [asking, setAsking] = useState<{ readonly key: OptionKey; readonly text: string } | null>(null);
  const storedFor = (key: OptionKey): string => stored.get(key)?.value ?? optionRow(key).fallback;
  const shownFor = (key: OptionKey): string => drafts[key] ?? shownAs(key, storedFor(key), facts);
  /** As a draft would be stored; what cannot be read stays as it is, for the kind to complain of. */
  const valueFor = (key: OptionKey): string => {
    const draft = drafts[key];
    if (draft === undefined) return storedFor(key);
    const read = storedAs(key, draft, facts);
    return 'text' in read ? read.text : draft;
  };
  const changed = keys.filter((key) => {
    const draft = drafts[key];
    if (draft === undefined) return false;
    // An empty secret leaves the stored one alone.
    return optionRow(key).secret ? draft !== '' : valueFor(key) !== storedFor(key);
  });
  useUnsaved(changed.length > 0);

  const change = (key: OptionKey, value: string) => {
    const { confirm } = optionRow(key);
    if (confirm !== null && confirm.value === value) setAsking({ key, text: textIn(confirm, language) });
    else setDrafts({ ...drafts, [key]: value });
  };
  const discard = () => {
    setDrafts({});
    setErrors({});
  };
  const save = async () => {
    if (changed.length === 0) return toast.warning(t('settings.unchanged'));
    const complaints = Object.fromEntries(
      changed.flatMap((key) => {
        const read = storedAs(key, drafts[key] ?? '', facts);
        const wrong = 'problem' in read ? read.problem : optionRow(key).kind.check(read.text);
        return wrong === null ? [] : [[key, textIn(wrong, language)]];
      }),
    );
    setErrors(complaints);
    // Orders tell the payment service where to call back.
    if (changed.some((key) => optionRow(key).panel === 'payment') && (stored.get('ServerAddress')?.value ?? '') === '')
      return toast.error(t('settings.addressFirst'));
    if (Object.keys(complaints).length > 0) return toast.error(t('settings.check'));
    const first = changed.filter((key) => optionRow(key).kind.name === 'switch');
    const order = [...first, ...changed.filter((key) => !first.includes(key))];
    const failures: Record<string, string> = {};
    const left: Record<string, string> = {};
    let thrown = false;
    for (const key of order) {
      await call('option.set', { key, value: valueFor(key) }).catch((error: unknown) => {
        failures[key] = messageOf(error);
        thrown ||= !isAnswered(error);
        left[key] = drafts[key] ?? '';
      });
    }
    setErrors(failures);
    setDrafts(left);
    const failed = Object.keys(failures).length;
    if (failed === 0) toast.success(t('settings.saved'));
    else if (failed < order.length) toast.error(t('settings.partly'));
    else
      toast.error(t(thrown ? 'settings.failedRetry' : 'settings.failed'), { description: Object.values(failures)[0] });
    onSaved();
  };

  return (
    <CheckedForm onSubmit={save} className={inner ? '' : 'rounded-3 border border-line bg-surface'}>
      <header className="flex items-center gap-2 border-b border-line px-4 py-2.5">
        <h2 className={`flex-1 ${inner ? 'text-ink-2' : 'font-semibold'}`}>{title}</h2>
      </header>
      <div className="grid gap-x-6 px-4 py-3 sm:grid-cols-2">
        {keys.map((key) => {
          const { dependsOn, role: needed, secret, fallback } = optionRow(key);
          const locked = needed > role || (dependsOn !== null && valueFor(dependsOn as OptionKey) !== 'true');
          const differs = secret ? (stored.get(key)?.is_set ?? false) : valueFor(key) !== fallback;
          return (
            <OptionField
              key={key}
              option={key}
              language={language}
              value={secret ? (drafts[key] ?? '') : shownFor(key)}
              isSet={stored.get(key)?.is_set ?? false}
              locked={locked}
              rootOnly={needed > role}
              differs={differs}
              draft={changed.includes(key)}
              technical={technical}
              error={errors[key]}
              onChange={(value) => change(key, value)}
              onReset={() => (secret ? undefined : change(key, shownAs(key, fallback, facts)))}
            />
          );
        })}
      </div>
      {extra}
      <footer
        className={`flex items-center gap-2 rounded-b-3 border-t border-line bg-surface px-4 py-2.5 ${changed.length === 0 ? '' : 'sticky bottom-0 z-10'}`}
      >
        <p role="status" className="min-w-0 flex-1 truncate text-[12px] text-ink-2">
          {changed.length === 0
            ? ''
            : `${t('settings.changes', { count: changed.length })}: ${changed.map((key) => textIn(optionRow(key).label, language)).join(' · ')}`}
        </p>
        {changed.length === 0 ? null : (
          <button type="button" className="button" onClick={discard}>
            {t('settings.discard')}
          </button>
        )}
        <button type="submit" className={`button ${changed.length === 0 ? '' : 'button-primary'}`}>
          {t('app.save')}
        </button>
      </footer>
      {asking === null ? null : (
        <Confirm
          title={textIn(optionRow(asking.key).label, language)}
          text={asking.text}
          action={t('settings.confirm')}
          onClose={() => setAsking(null)}
          onConfirm={() => {
            setDrafts({ ...drafts, [asking.key]: optionRow(asking.key).confirm?.value ?? '' });
            setAsking(null);
          }}
        />
      )}
    </CheckedForm>
  );
}
