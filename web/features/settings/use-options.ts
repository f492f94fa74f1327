/** The options that are being changed, on whichever side of the settings: as they are typed, and what is wrong with them. Stable while nothing is typed, so that a search renders no field again. */
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionKeys, optionRow } from '../../../server/contract/options.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { call, isAnswered } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { useDirty } from '../../lib/dirty-form.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { displayedValue, storedValue } from './typed-option.ts';

export interface Stored {
  readonly value: string;
  readonly is_set: boolean;
}

type Texts = Readonly<Record<string, string>>;
const without = (texts: Texts, keys: readonly OptionKey[]): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([key]) => !keys.some((one) => one === key)));

/** @param stored and @param onSaved stable. */
export function useOptions(stored: ReadonlyMap<string, Stored>, onSaved: () => void) {
  const { t } = useTranslation();
  const money = useMoneyDetails();
  const [inCurrency, quotaPerUnit] = [money?.inCurrency, money?.quotaPerUnit];
  const details = useMemo<MoneyDetails | null>(
    () => (inCurrency === undefined || quotaPerUnit === undefined ? null : { inCurrency, quotaPerUnit }),
    [inCurrency, quotaPerUnit],
  );
  const language = currentLanguage();
  const [drafts, setDrafts] = useState<Texts>({});
  const [errors, setErrors] = useState<Texts>({});
  const change = useCallback(
    (key: OptionKey, value: string) => setDrafts((before) => ({ ...before, [key]: value })),
    [],
  );
  /** A secret stays as it is: it is replaced, never put back. */
  const reset = useCallback(
    (key: OptionKey) => {
      if (!optionRow(key).secret) change(key, displayedValue(key, optionRow(key).fallback, details));
    },
    [change, details],
  );
  const options = useMemo(() => {
    const storedFor = (key: OptionKey): string => stored.get(key)?.value ?? optionRow(key).fallback;
    /** As a draft would be stored; what cannot be read stays as it is, for the kind to complain of. */
    const valueFor = (key: OptionKey): string => {
      const draft = drafts[key];
      if (draft === undefined) return storedFor(key);
      const read = storedValue(key, draft, details);
      return 'text' in read ? read.text : draft;
    };
    const changed = optionKeys.filter((key) => {
      const draft = drafts[key];
      if (draft === undefined) return false;
      // An empty secret leaves the stored one alone.
      return optionRow(key).secret ? draft !== '' : valueFor(key) !== storedFor(key);
    });

    /** @param keys of one panel, or all. */
    const save = async (keys: readonly OptionKey[]) => {
      const selected = changed.filter((key) => keys.includes(key));
      if (selected.length === 0) return void toast.warning(t('settings.unchanged'));
      const complaints = Object.fromEntries(
        selected.flatMap((key) => {
          const read = storedValue(key, drafts[key] ?? '', details);
          const wrong = 'problem' in read ? read.problem : optionRow(key).kind.check(read.text);
          return wrong === null ? [] : [[key, textIn(wrong, language)]];
        }),
      );
      setErrors((before) => ({ ...without(before, selected), ...complaints }));
      // Orders contain the address that the payment service calls back.
      if (
        selected.some((key) => optionRow(key).panel === 'payment') &&
        (stored.get('ServerAddress')?.value ?? '') === ''
      )
        return void toast.error(t('settings.addressFirst'));
      if (Object.keys(complaints).length > 0) return void toast.error(t('settings.check'));
      // Switches go first, but one that needs a field stored with it: the server would refuse it.
      const rankOf = (key: OptionKey): number => {
        const { kind, needs } = optionRow(key);
        if (kind.name !== 'switch') return 1;
        return selected.includes(needs as OptionKey) ? 2 : 0;
      };
      const failures: Record<string, string> = {};
      let thrown = false;
      for (const key of [...selected].sort((one, other) => rankOf(one) - rankOf(other)))
        await call('option.set', { key, value: valueFor(key) }).catch((error: unknown) => {
          failures[key] = messageOf(error);
          thrown ||= !isAnswered(error);
        });
      const done = selected.filter((key) => failures[key] === undefined);
      setErrors((before) => ({ ...without(before, selected), ...failures }));
      setDrafts((before) => without(before, done));
      if (done.length === selected.length) toast.success(t('settings.saved'));
      else if (done.length > 0) toast.error(t('settings.partly'));
      else
        toast.error(t(thrown ? 'settings.failedRetry' : 'settings.failed'), {
          description: Object.values(failures)[0],
        });
      onSaved();
    };

    return {
      stored,
      changed,
      errors,
      valueFor,
      shownFor: (key: OptionKey): string =>
        drafts[key] ?? (optionRow(key).secret ? '' : displayedValue(key, storedFor(key), details)),
      change,
      reset,
      discard: () => {
        setDrafts({});
        setErrors({});
      },
      save,
    };
  }, [stored, drafts, errors, details, language, t, change, reset, onSaved]);
  useDirty(options.changed.length > 0);
  return options;
}

export type Options = ReturnType<typeof useOptions>;
