/** What one model cost before and after each change of its price, the newest first. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { call } from '../../lib/api.ts';
import { dollarText } from '../../lib/currency.ts';
import { dateTime } from '../../lib/format.ts';
import { useOptionalRead } from '../../lib/read.ts';

type Change = OutputOf<EndpointOf<'ratio.model_history'>>[number];

/** The rest is behind a button. */
const maxShown = 3;

export function PriceChanges({ model }: { readonly model: string }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const changes = useOptionalRead({
    queryKey: ['ratio', 'model-history', model],
    queryFn: () => call('ratio.model_history', { model }),
    staleTime: 60_000,
  }).data;
  if (changes === undefined) return null;
  const price = ({ input, output, per_call: perCall }: Change['after']): string =>
    perCall !== null
      ? `$${dollarText(perCall)} ${t('pricing.callUnit')}`
      : input === null
        ? t('pricing.noPrice')
        : `$${dollarText(input)} / $${dollarText(output)}`;
  const more = changes.length - maxShown;
  return (
    <div className="border-t border-line px-4 py-2 text-[12px]">
      <h3 className="mb-1 text-ink-3">{t('pricing.changes')}</h3>
      {changes.length === 0 ? <p className="text-ink-2">{t('pricing.noChanges')}</p> : null}
      <ul className="grid gap-0.5">
        {(all ? changes : changes.slice(0, maxShown)).map(({ id, created_time: at, actor, before, after }) => (
          <li key={id} className="flex flex-wrap justify-between gap-x-3">
            <span className="text-ink-2">
              {dateTime(at).slice(0, 10)} {actor === '' ? null : <span className="text-ink-3">{actor}</span>}
            </span>
            <span className="tabular-nums">
              <span className="text-ink-3">{price(before)} → </span>
              {price(after)}
            </span>
          </li>
        ))}
      </ul>
      {more <= 0 ? null : (
        <button
          type="button"
          className="min-h-6 text-accent-text underline"
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          {all ? t('pricing.fewer') : t('pricing.showChanges', { count: changes.length })}
        </button>
      )}
    </div>
  );
}
