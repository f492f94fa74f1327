/** What past requests would have cost with another price; stored only when the reader applies it. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { raisedBy } from '../../../server/contract/pricing/decimal.ts';
import { valueIn } from '../../components/amount.ts';
import { NumberField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { Segment } from '../../components/segment.tsx';
import { SuggestField } from '../../components/suggest.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { grouped, percentText } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import type { AdminModel } from './model-rows.ts';

type Result = OutputOf<EndpointOf<'ratio.simulate'>>;
export type Prices = Record<string, { per_call: number } | { input: number; output?: number }>;

const days = ['1', '7', '30'] as const;
const daySeconds = 86_400;
const priceBounds = { currency: 'usd', max: 1_000_000_000, maxDecimals: 8 } as const;
export const percentBounds = { min: -100, max: 10_000 } as const;

/** Every price by so many percent. */
export function byPercent(models: readonly AdminModel[], percent: number): Prices {
  const times = (value: number) => raisedBy(value, percent);
  return Object.fromEntries(
    models.flatMap(({ model, input, output, per_call: call }): [string, Prices[string]][] =>
      call !== null
        ? [[model, { per_call: times(call) }]]
        : input === null
          ? []
          : [[model, { input: times(input), output: times(output ?? input) }]],
    ),
  );
}

export interface SimulateProps {
  /** The models in sight. */
  readonly models: readonly AdminModel[];
  readonly onApply: (prices: Prices) => void;
  readonly onClose: () => void;
}

export function PriceSimulation({ models, onApply, onClose }: SimulateProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const [name, setName] = useState('');
  const [percent, setPercent] = useState('10');
  const [input, setInput] = useState('');
  const [output, setOutput] = useState('');
  const [range, setRange] = useState<(typeof days)[number]>('7');
  const [result, setResult] = useState<{ readonly of: Prices; readonly answer: Result } | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const one = models.find(({ model }) => model === name);
  const wrong = name !== '' && one === undefined;
  const select = (next: string) => {
    setName(next);
    setResult(null);
    const found = models.find(({ model }) => model === next);
    setInput(String(found?.input ?? found?.per_call ?? ''));
    setOutput(String(found?.output ?? ''));
  };
  /** Both prices of the one model, by so many percent of what they are. */
  const raise = (next: string) => {
    setPercent(next);
    const change = valueIn(parseNumber(next, percentBounds), Number.NaN);
    if (one === undefined || Number.isNaN(change)) return;
    const raised = (price: number | null | undefined): string => (price == null ? '' : String(raisedBy(price, change)));
    setInput(raised(one.input ?? one.per_call));
    setOutput(raised(one.output));
  };
  const prices = (): Prices => {
    if (one === undefined) return byPercent(models, valueIn(parseNumber(percent, percentBounds)));
    const first = valueIn(parseNumber(input, priceBounds));
    return {
      [one.model]:
        one.per_call !== null
          ? { per_call: first }
          : { input: first, output: valueIn(parseNumber(output, priceBounds), first) },
    };
  };
  const run = async () => {
    if (busy || wrong) return;
    setBusy(true);
    setError('');
    try {
      const of = prices();
      const since = Math.floor(Date.now() / 1000) - Number(range) * daySeconds;
      setResult({ of, answer: await call('ratio.simulate', { since, models: of }) });
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const { before = 0, after = 0, requests = 0, models: found = [] } = result?.answer ?? {};
  const changed = found.filter((row) => row.before !== row.after);
  return (
    <Sheet
      title={t('pricing.simulate')}
      onClose={onClose}
      footer={
        <>
          <button type="submit" form="simulate" className="button" aria-disabled={busy}>
            {busy ? t('pricing.simulating') : t('pricing.simulateRun')}
          </button>
          <button
            type="button"
            className="button button-primary"
            disabled={result === null}
            onClick={() => result !== null && onApply(result.of)}
          >
            {t('pricing.simulateApply', { count: Object.keys(result?.of ?? {}).length })}
          </button>
        </>
      }
    >
      <CheckedForm id="simulate" onSubmit={() => void run()}>
        <SuggestField
          label={t('pricing.model')}
          help={t('pricing.simulateAll', { count: models.length })}
          error={wrong ? t('pricing.noMatch') : undefined}
          value={name}
          options={models.map(({ model }) => [model, model])}
          onChange={select}
        />
        {one === undefined ? (
          <NumberField
            label={t('pricing.percent')}
            bounds={percentBounds}
            unit="%"
            value={percent}
            onChange={setPercent}
          />
        ) : (
          <div className="grid grid-cols-2 gap-3">
            <div className="col-span-2">
              <NumberField
                label={t('pricing.percent')}
                bounds={percentBounds}
                unit="%"
                value={percent}
                onChange={raise}
              />
            </div>
            <NumberField
              label={one.per_call === null ? t('pricing.in') : t('pricing.perCall')}
              bounds={priceBounds}
              value={input}
              onChange={setInput}
            />
            {one.per_call === null ? (
              <NumberField label={t('pricing.out')} bounds={priceBounds} value={output} onChange={setOutput} />
            ) : null}
          </div>
        )}
        <Segment
          label={t('pricing.period')}
          value={range}
          options={days.map((count) => [count, t('pricing.lastDays', { count: Number(count) })] as const)}
          onChange={setRange}
        />
      </CheckedForm>
      <p role="alert" className="mt-3 text-danger">
        {error}
      </p>
      {result === null ? null : (
        <section aria-label={t('pricing.result')} className="mt-2">
          <p className="text-ink-2">{t('pricing.simulated', { count: requests })}</p>
          <p className="text-[20px] leading-8 font-semibold">
            {money(before)} → {money(after)}{' '}
            <span className={after < before ? 'text-danger' : 'text-success'}>
              {before === 0 ? '' : `${after >= before ? '+' : ''}${percentText((after - before) / before)}`}
            </span>
          </p>
          {changed.length === 0 ? null : (
            <table className="sheet-table compact mt-2">
              <thead>
                <tr>
                  <th scope="col">{t('pricing.model')}</th>
                  <th scope="col" className="number">
                    {t('pricing.requestsShort')}
                  </th>
                  <th scope="col" className="number">
                    {t('pricing.was')}
                  </th>
                  <th scope="col" className="number">
                    {t('pricing.would')}
                  </th>
                </tr>
              </thead>
              <tbody>
                {changed.slice(0, 50).map((row) => (
                  <tr key={row.model}>
                    <td className="max-w-40 truncate font-mono text-[12px]">{row.model}</td>
                    <td className="number">{grouped(row.requests)}</td>
                    <td className="number">{money(row.before)}</td>
                    <td className="number">{money(row.after)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </section>
      )}
    </Sheet>
  );
}
