/** The table of models: what they take and cost; for administrators what is paid for them, how they do, how much they are used. */

import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import { textIn } from '../../../server/contract/language.ts';
import { successClass, successText } from '../../components/channel-traffic.ts';
import { InlineNumber } from '../../components/inline-number.tsx';
import { type Levels, levelRank, ModelLevel } from '../../components/model-level.tsx';
import type { Column } from '../../components/table/column.ts';
import { type TrafficBar, TrafficBars } from '../../components/traffic-bars.tsx';
import { dollarText, sizeText } from '../../lib/currency.ts';
import { grouped, percentText } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { type ModelView, marginOf } from './model-rows.ts';

export const modelPath = (model: string): string => `/pricing/${encodeURIComponent(model)}`;

/** What of a price is typed in the table. */
export type PricePart = 'input' | 'output' | 'cached' | 'perCall';

export interface ModelColumnsOptions {
  readonly t: TFunction;
  readonly admin: boolean;
  /** A row is a card: its name with what it did, below them its prices. */
  readonly narrow: boolean;
  /** How each model does, where its traffic is not shown. */
  readonly levels: Levels;
  /** Absent: prices are not changed here. */
  readonly onPrice?: ((row: ModelView, part: PricePart, dollars: number) => void) | undefined;
}

const priceBounds = { currency: 'usd', max: 1_000_000_000, maxDecimals: 8 } as const;
const thin = 0.1;
/** A loss in red, a thin margin in amber; none at all is what a price at cost is meant to leave. */
const marginClass = (margin: number): string =>
  percentText(Math.abs(margin)) === percentText(0)
    ? 'text-ink-3'
    : margin < 0
      ? 'text-danger'
      : margin < thin
        ? 'text-warning'
        : '';

/** How its last day went: part by part, and the share that succeeded. */
function Day({ bars }: { readonly bars: readonly TrafficBar[] }) {
  const attempts = bars.reduce((sum, bar) => sum + bar.attempts, 0);
  const share = attempts === 0 ? null : 1 - bars.reduce((sum, bar) => sum + bar.failed, 0) / attempts;
  return (
    <span className="inline-flex items-center gap-2 align-middle">
      <TrafficBars narrow bars={bars} />
      <span className={`w-11 text-right text-[12px] ${share === null ? 'text-ink-3' : successClass(share)}`}>
        {share === null ? '–' : successText(share)}
      </span>
    </span>
  );
}

export const modalityText = (t: TFunction, takes: readonly string[]): string =>
  takes.length === 0
    ? '–'
    : takes.map((one) => t(`pricing.take.${one as 'text'}`)).join(currentLanguage() === 'zh' ? '、' : ', ');

/** What the price comes to at its channels. */
function rangeText(t: TFunction, { least, factors }: ModelView, value: number): string {
  if (factors === undefined) return t('pricing.fromPrice', { price: dollarText(value * (least ?? 1)) });
  const most = dollarText(value * factors.most);
  if (factors.least === factors.most) return t('pricing.channelPrice', { price: most });
  return t('pricing.priceRange', { least: dollarText(value * factors.least), most });
}

/** The prices in one text, as the card on a phone says them. */
function priceText(t: TFunction, { input, output, perCall }: ModelView): string {
  if (perCall !== null) return `$${dollarText(perCall)} ${t('pricing.callUnit')}`;
  // Vectors have no words to pay for.
  return output === null || (output === 0 && input !== 0)
    ? t('pricing.cardInput', { input: dollarText(input) })
    : t('pricing.cardPrices', { input: dollarText(input), output: dollarText(output) });
}

export function modelColumns({ t, admin, narrow, levels, onPrice }: ModelColumnsOptions): readonly Column<ModelView>[] {
  const price = (part: PricePart, label: string): Column<ModelView> => ({
    id: part,
    ...(part === 'cached' ? { from: 1024 } : {}),
    header: label,
    number: true,
    sort: (row) => row[part] ?? -1,
    cell: (row) => {
      const value = part === 'input' ? (row.input ?? row.perCall) : row[part];
      const typed: PricePart = part === 'input' && row.perCall !== null ? 'perCall' : part;
      // Vectors have no words to pay for.
      if (value === null || (part === 'output' && value === 0 && row.input !== 0))
        return <span className="text-ink-3">–</span>;
      return (
        <>
          {onPrice === undefined ? (
            dollarText(value)
          ) : (
            <InlineNumber
              label={t('pricing.priceOf', { part: label, name: row.model })}
              value={value}
              bounds={priceBounds}
              relative
              written={dollarText}
              onSave={(next) => onPrice(row, typed, next)}
            />
          )}
          {row.least === undefined && row.factors === undefined ? null : (
            <span className="block text-[11px] text-ink-3">{rangeText(t, row, value)}</span>
          )}
          {typed === 'perCall' ? <span className="ml-1 text-[11px] text-ink-3">{t('pricing.callUnit')}</span> : null}
        </>
      );
    },
  });
  const everybody: readonly Column<ModelView>[] = [
    {
      id: 'model',
      header: t('pricing.model'),
      key: true,
      sort: (row) => row.model,
      cell: (row) => {
        const name = (
          <Link
            href={modelPath(row.model)}
            className={`font-mono text-[12px] hover:underline ${row.available ? 'text-ink-1' : 'text-ink-3'}`}
            title={row.available ? undefined : t('pricing.no')}
          >
            {row.model}
          </Link>
        );
        if (!narrow) return name;
        return (
          <>
            <span className="flex items-center justify-between gap-3">
              {name}
              {row.admin === null ? (
                <span className="text-[12px]">
                  <ModelLevel level={levels[row.model] ?? 'none'} />
                </span>
              ) : (
                <Day bars={row.admin.bars} />
              )}
            </span>
            <span className="mt-1 flex justify-between gap-3 text-[12px] text-ink-2">
              {priceText(t, row)}
              {row.context === null ? null : <span className="text-ink-3">{sizeText(row.context)}</span>}
            </span>
          </>
        );
      },
    },
    {
      id: 'maker',
      ...(admin ? { from: 1024 } : {}),
      header: t('pricing.maker'),
      sort: (row) => row.maker?.en ?? '',
      cell: (row) => (
        <span className="text-ink-2">{row.maker === null ? '–' : textIn(row.maker, currentLanguage())}</span>
      ),
    },
    {
      id: 'context',
      ...(admin ? { from: 1024 } : {}),
      header: t('pricing.context'),
      number: true,
      sort: (row) => row.context ?? 0,
      cell: (row) => sizeText(row.context),
    },
    {
      id: 'takes',
      from: admin ? 1600 : 1024,
      header: t('pricing.takes'),
      sort: (row) => row.takes.length,
      cell: (row) => <span className="text-ink-2">{modalityText(t, row.takes)}</span>,
    },
    price('input', t('pricing.in')),
    price('output', t('pricing.out')),
    price('cached', t('pricing.cached')),
  ];
  if (!admin)
    return [
      ...everybody,
      {
        id: 'level',
        header: t('site.status'),
        sort: (row) => levelRank[levels[row.model] ?? 'none'],
        cell: (row) => <ModelLevel level={levels[row.model] ?? 'none'} />,
      },
    ];
  return [
    ...everybody,
    {
      id: 'cost',
      from: 1280,
      header: t('pricing.cost'),
      number: true,
      sort: (row) => row.admin?.cost_input ?? -1,
      cell: ({ admin: own }) =>
        own === null || own.cost_input === null ? (
          '–'
        ) : (
          <span className="text-ink-2">
            {dollarText(own.cost_input)} <span className="text-ink-3">/</span> {dollarText(own.cost_output)}
          </span>
        ),
    },
    {
      id: 'margin',
      header: t('pricing.margin'),
      number: true,
      sort: (row) => marginOf(row) ?? Number.MAX_SAFE_INTEGER,
      cell: (row) => {
        const margin = marginOf(row);
        return margin === null ? '–' : <span className={marginClass(margin)}>{percentText(margin)}</span>;
      },
    },
    {
      id: 'channels',
      from: 1024,
      header: t('pricing.channels'),
      number: true,
      sort: (row) => row.admin?.channels.length ?? 0,
      cell: (row) => (
        <Link
          href={`/channel?model=${encodeURIComponent(row.model)}`}
          className="inline-flex min-h-6 min-w-6 items-center justify-end hover:underline"
          aria-label={t('pricing.channelsOf', { count: row.admin?.channels.length ?? 0, name: row.model })}
        >
          {row.admin?.channels.length ?? 0}
        </Link>
      ),
    },
    {
      id: 'bars',
      header: t('pricing.day'),
      cell: (row) => <Day bars={row.admin?.bars ?? []} />,
    },
    {
      id: 'requests',
      from: 1280,
      header: t('pricing.requests'),
      number: true,
      sort: (row) => row.admin?.requests ?? 0,
      cell: (row) => grouped(row.admin?.requests ?? 0),
    },
  ];
}
