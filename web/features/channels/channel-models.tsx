/** Which models a channel serves: chosen from what its provider offers, typed, or pasted as a list. */
import { useEffect, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { NameChips } from '../../components/name-chips.tsx';
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
/** A list that is pasted has a name on each line as well. */
const withCommas = (text: string): string => text.replace(/[\r\n]+/g, ',');

export function ChannelModels({ value, common, ask, atOnce = false, onChange }: ChannelModelsProps) {
  const { t } = useTranslation();
  const id = useId();
  const [typed, setTyped] = useState('');
  /** null = nobody opened or closed the list: it is open while nothing is chosen. */
  const [browsing, setBrowsing] = useState<boolean | null>(null);
  const [busy, setBusy] = useState(false);
  /** Why its list could not be read; '' = it could, or was not asked for. */
  const [failed, setFailed] = useState('');
  /** What the upstream lists; null = it was not asked. */
  const [listed, setListed] = useState<readonly string[] | null>(null);
  const names = [...new Set(namesIn(value))];
  const offered = listed ?? common;
  const needle = typed.trim().toLowerCase();
  const isOffered = needle !== '' && offered.some((name) => name.toLowerCase().includes(needle));
  const add = (text: string) => {
    const { models, hadSome } = withModels(value, withCommas(text));
    if (hadSome) toast.error(t('channels.modelTaken'));
    onChange(models);
    setTyped('');
  };
  /** @param names which of those it lists are taken. */
  const fetchList = async (names: (found: readonly string[]) => readonly string[]) => {
    if (ask === null) return void toast.error(t('channels.keyNeeded'));
    setBusy(true);
    setFailed('');
    try {
      const found = await ask();
      setListed(found);
      onChange(withModels(value, names(found).join(',')).models);
      toast.success(t('channels.fetched', { count: found.length }));
    } catch (failure) {
      setFailed(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is first shown
  useEffect(() => {
    if (atOnce) void fetchList((found) => found.filter((name) => common.includes(name)));
  }, []);
  const action = (words: string, onClick: () => void, more: { disabled?: boolean; danger?: boolean } = {}) => (
    <button
      type="button"
      className={`min-h-6 hover:underline disabled:opacity-60 max-sm:min-h-9 ${more.danger ? '-my-1 text-danger max-sm:-my-2.5' : 'text-accent-text'}`}
      disabled={more.disabled}
      onClick={onClick}
    >
      {words}
    </button>
  );
  return (
    <div className="mb-4 grid gap-1">
      <div className="flex items-center justify-between gap-3 text-[12px] leading-4 text-ink-3">
        <p>
          <label htmlFor={id} className="font-medium text-ink-2">
            {t('channels.models')}
          </label>
          {names.length === 0 ? null : ` · ${names.length}`}
        </p>
        {names.length === 0 ? null : action(t('channels.clearModels'), () => onChange(''), { danger: true })}
      </div>
      <NameChips
        id={id}
        className="flex max-h-48 overflow-y-auto"
        label={t('channels.chosenModels')}
        names={names}
        removeLabel={(name) => t('tokens.withoutModel', { name })}
        placeholder={t('channels.ownModels')}
        typed={typed}
        onType={setTyped}
        onTake={() => add(typed)}
        takesOnBlur={!isOffered}
        onRemove={(name) => onChange(names.filter((one) => one !== name).join(','))}
        onPaste={(event) => {
          const text = event.clipboardData.getData('text');
          if (!/[,\n]/.test(text)) return;
          event.preventDefault();
          add(`${typed},${text}`);
        }}
      >
        {typed.trim() === '' ? null : (
          <button
            type="button"
            className="rounded-1 px-2 leading-6 font-medium text-accent-text hover:bg-hover"
            // The field keeps the focus: leaving it would take what is typed as well.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => add(typed)}
          >
            {t('channels.addModels')}
          </button>
        )}
      </NameChips>
      <div className="mb-1 flex flex-wrap gap-x-4 text-[12px]">
        {action(t('channels.fetchList'), () => void fetchList((found) => found), { disabled: busy })}
        {action(t('channels.fill'), () => onChange(common.join(',')))}
        {related(common).length === 0
          ? null
          : action(t('channels.fillRelated'), () => onChange(related(common).join(',')))}
      </div>
      <p role="status" className={failed === '' ? 'sr-only' : 'break-words text-danger'}>
        {failed === '' ? '' : t('app.named', { name: t('channels.listFailed'), value: failed })}
      </p>
      <ModelPicker
        models={offered}
        selected={names}
        search={typed}
        open={isOffered || (browsing ?? names.length === 0)}
        onOpen={setBrowsing}
        onChange={(next) => onChange(next.join(','))}
      />
    </div>
  );
}
