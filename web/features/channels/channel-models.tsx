/** Which models a channel serves: typed, the provider's usual ones, or what its upstream lists. */
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field } from '../../components/form.tsx';
import { messageOf } from '../../lib/attempt.ts';
import { namesIn, withModels } from './model-list.ts';
import { ModelPicker } from './model-picker.tsx';

export interface ChannelModelsProps {
  readonly value: string;
  readonly common: readonly string[];
  /** Asks the upstream. null = there is no key to ask with yet. */
  readonly ask: (() => Promise<readonly string[]>) | null;
  /** The upstream is asked as soon as this is shown. */
  readonly atOnce?: boolean;
  readonly onChange: (models: string) => void;
}

/** What speaks OpenAI by its name, where there is any such. */
const related = (models: readonly string[]): readonly string[] => models.filter((name) => /^(gpt-|text-)/.test(name));

export function ChannelModels({ value, common, ask, atOnce = false, onChange }: ChannelModelsProps) {
  const { t } = useTranslation();
  const [own, setOwn] = useState('');
  const [busy, setBusy] = useState(false);
  /** What the upstream lists; null = it was not asked. */
  const [listed, setListed] = useState<readonly string[] | null>(null);
  const add = () => {
    const { models, hadSome } = withModels(value, own);
    if (hadSome) toast.error(t('channels.modelTaken'));
    onChange(models);
    setOwn('');
  };
  /** @param names which of those it lists are taken. */
  const fetchList = async (names: (found: readonly string[]) => readonly string[]) => {
    if (ask === null) return toast.error(t('channels.keyNeeded'));
    setBusy(true);
    try {
      const found = await ask();
      setListed(found);
      onChange(withModels(value, names(found).join(',')).models);
      toast.success(t('channels.fetched', { count: found.length }));
    } catch (failure) {
      toast.error(t('channels.listFailed'), { description: messageOf(failure) });
    } finally {
      setBusy(false);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is first shown
  useEffect(() => {
    if (atOnce) void fetchList((found) => found.filter((name) => common.includes(name)));
  }, []);
  return (
    <>
      <Field label={t('channels.models')}>
        {(ids) => (
          <textarea
            {...ids}
            className="field"
            rows={4}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      <div className="-mt-2 mb-4 flex flex-wrap gap-2">
        <button type="button" className="button" onClick={() => onChange(common.join(','))}>
          {t('channels.fill')}
        </button>
        <button type="button" className="button" onClick={() => onChange(related(common).join(','))}>
          {t('channels.fillRelated')}
        </button>
        <button type="button" className="button" disabled={busy} onClick={() => fetchList((found) => found)}>
          {t('channels.fetchList')}
        </button>
        <button type="button" className="button button-ghost ml-auto text-danger" onClick={() => onChange('')}>
          {t('channels.clearModels')}
        </button>
      </div>
      <ModelPicker
        models={listed ?? common}
        selected={namesIn(value)}
        onChange={(names) => onChange(names.join(','))}
      />
      <Field label={t('channels.ownModels')}>
        {(ids) => (
          <div className="flex gap-2">
            <input
              {...ids}
              className="field"
              autoComplete="off"
              placeholder={t('settings.commas')}
              value={own}
              onChange={(event) => setOwn(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return;
                event.preventDefault();
                add();
              }}
            />
            <button type="button" className="button h-8" onClick={add}>
              {t('channels.addModels')}
            </button>
          </div>
        )}
      </Field>
    </>
  );
}
