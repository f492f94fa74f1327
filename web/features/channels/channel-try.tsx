/** One real request through the channel as the form describes it, before anything is stored. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Select } from '../../components/select.tsx';
import { messageOf } from '../../lib/attempt.ts';

export interface Outcome {
  readonly success: boolean;
  readonly message: string;
  /** Seconds. */
  readonly time: number;
  readonly first_token_time: number | null;
}

export interface ChannelTryProps {
  readonly models: readonly string[];
  readonly ask: (model: string) => Promise<Outcome>;
}

export function ChannelTry({ models, ask }: ChannelTryProps) {
  const { t } = useTranslation();
  const [model, setModel] = useState('');
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  // Without a name the server asks the cheapest model that answers a small question: never for a picture or a research run.
  const selected = models.includes(model) ? model : '';
  const run = async () => {
    setBusy(true);
    setOutcome(null);
    try {
      setOutcome(await ask(selected));
    } catch (failure) {
      setOutcome({ success: false, message: messageOf(failure), time: 0, first_token_time: null });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="mb-4 grid gap-2 rounded-2 border border-line p-3" aria-label={t('channels.tryTitle')}>
      <h2 className="text-[12px] leading-4 font-medium text-ink-2">{t('channels.tryTitle')}</h2>
      <div className="flex gap-2">
        <Select
          className="field"
          label={t('channels.tryModel')}
          value={selected}
          options={[['', t('channels.tryCheapest')], ...models.map((name) => [name, name] as const)]}
          onChange={setModel}
        />
        <button type="button" className="button h-8 max-sm:h-11" aria-disabled={busy} onClick={() => void run()}>
          {busy ? t('channels.testing') : t('channels.tryNow')}
        </button>
      </div>
      <p
        role="status"
        className={`text-[12px] break-words ${outcome?.success === false ? 'text-danger' : 'text-ink-2'}`}
      >
        {outcome === null
          ? t('channels.tryHelp')
          : outcome.success
            ? t('channels.tryOk', {
                time: outcome.time.toFixed(2),
                first: (outcome.first_token_time ?? outcome.time).toFixed(2),
              })
            : outcome.message}
      </p>
    </section>
  );
}
