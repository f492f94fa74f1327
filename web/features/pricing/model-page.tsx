/** One model: what it takes, what it costs in each group and how it is called, all in the first screen; for administrators its channels and use. */

import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { endpointTypesOf } from '../../../server/contract/endpoint-types.ts';
import { textIn } from '../../../server/contract/language.ts';
import { CallExample } from '../../components/call-example.tsx';
import { Card } from '../../components/card.tsx';
import {
  secondsText,
  stateClasses,
  successClass,
  successOf,
  successText,
  useChannelTraffic,
} from '../../components/channel-traffic.ts';
import { FailureNote } from '../../components/failure.tsx';
import { Icon } from '../../components/icon.tsx';
import { Missing } from '../../components/missing.tsx';
import { PageHead } from '../../components/page.tsx';
import { TrafficBars } from '../../components/traffic-bars.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { copyOrShow } from '../../lib/copy.ts';
import { dollarText, sizeText } from '../../lib/currency.ts';
import { grouped, percentText } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useMoney } from '../../lib/money.ts';
import { useUser } from '../../lib/session.ts';
import { ChannelLatency } from './channel-latency.tsx';
import { modalityText } from './model-columns.tsx';
import { type ModelView, marginOf } from './model-rows.ts';
import { PriceChanges } from './price-changes.tsx';
import { factorsIn } from './price-rows.ts';
import type { Models } from './use-models.ts';

/** In a wide place side by side, label above value. */
function DetailList({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <div className="@container">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 @xl:grid-cols-[repeat(auto-fit,minmax(7rem,1fr))]">
        {rows.map(([label, value]) => (
          <div key={label} className="contents @xl:block">
            <dt className="text-ink-3 @xl:text-[12px]">{label}</dt>
            <dd className="text-right @xl:text-left">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** In every group that the reader may use, at the dearest channel of each. */
function GroupPrices({ view, models }: { readonly view: ModelView; readonly models: Models }) {
  const { t } = useTranslation();
  const item = models.list?.data.find(({ model_name: name }) => name === view.model);
  const shown = models.ratio * (view.admin === null ? factorsIn(item, models.group).most : 1);
  const price = (value: number | null, group: string, ratio: number) => {
    if (value === null) return dollarText(null);
    const { least, most } = factorsIn(item, group);
    const own = (value / shown) * ratio;
    return (
      <>
        {dollarText(own * most)}
        {least === most ? null : (
          <span className="block text-[11px] text-ink-3">
            {t('pricing.fromPrice', { price: dollarText(own * least) })}
          </span>
        )}
      </>
    );
  };
  const groups = Object.entries(models.list?.group_ratio ?? {}).filter(([name]) => view.groups.includes(name));
  return (
    <table className="sheet-table compact">
      <thead>
        <tr>
          <th scope="col">{t('pricing.group')}</th>
          <th scope="col" className="number">
            {view.perCall === null ? t('pricing.in') : t('pricing.perCall')}
          </th>
          {view.perCall === null ? (
            <>
              <th scope="col" className="number">
                {t('pricing.out')}
              </th>
              <th scope="col" className="number">
                {t('pricing.cached')}
              </th>
            </>
          ) : null}
        </tr>
      </thead>
      <tbody>
        {groups.map(([name, ratio]) => (
          <tr key={name}>
            <td>
              {name} <span className="text-ink-3">×{ratio}</span>
            </td>
            <td className="number">{price(view.input ?? view.perCall, name, ratio)}</td>
            {view.perCall === null ? (
              <>
                <td className="number">{price(view.output, name, ratio)}</td>
                <td className="number">{price(view.cached, name, ratio)}</td>
              </>
            ) : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type AdminView = ModelView & { readonly admin: NonNullable<ModelView['admin']> };
type ModelChannel = AdminView['admin']['channels'][number];

function Use({ view }: { readonly view: AdminView }) {
  const { t } = useTranslation();
  const money = useMoney();
  const { admin } = view;
  const margin = marginOf(view);
  return (
    <Card
      title={t('pricing.use')}
      actions={
        <Link className="button" href={`/log?model=${encodeURIComponent(view.model)}`}>
          {t('logs.title')}
        </Link>
      }
    >
      <DetailList
        rows={[
          [t('pricing.day'), <TrafficBars key="bars" bars={admin.bars} />],
          [t('pricing.requests'), grouped(admin.requests)],
          [t('pricing.tokens'), `${sizeText(admin.tokens_in)} / ${sizeText(admin.tokens_out)}`],
          [t('pricing.charged'), money(admin.charge)],
          [t('pricing.margin'), margin === null ? '–' : percentText(margin)],
        ]}
      />
    </Card>
  );
}

/** The others are in the list of channels. */
const maxChannels = 8;

function costText({ input, output, per_call: call }: ModelChannel): string {
  if (call !== null) return dollarText(call);
  return input === null ? '–' : `${dollarText(input)} / ${dollarText(output)}`;
}

/** Those that serve the model, as they are tried: first by priority, then by what they served. */
function Channels({ view }: { readonly view: AdminView }) {
  const { t } = useTranslation();
  const { data } = useChannelTraffic('24h');
  const traffic = new Map(data?.map((one) => [one.id, one]));
  const attempts = ({ id }: ModelChannel): number => traffic.get(id)?.period?.attempts ?? 0;
  const channels = view.admin.channels.toSorted(
    (one, other) => other.priority - one.priority || attempts(other) - attempts(one),
  );
  const more = channels.length - maxChannels;
  return (
    <Card title={t('pricing.channels')} flush>
      <table className="sheet-table compact">
        <thead>
          <tr>
            <th scope="col">{t('channels.name')}</th>
            <th scope="col">{t('channels.status')}</th>
            <th scope="col" className="max-sm:hidden">
              {t('channels.lastDay')}
            </th>
            <th scope="col" className="number">
              {t('channels.success')}
            </th>
            <th scope="col" className="number max-sm:hidden">
              {t('channels.speed')}
            </th>
            <th scope="col" className="number max-lg:hidden">
              {t('channels.priority')}
            </th>
            <th scope="col" className="number max-sm:hidden">
              {t('pricing.cost')}
            </th>
          </tr>
        </thead>
        <tbody>
          {channels.slice(0, maxChannels).map((one) => {
            const own = traffic.get(one.id);
            const share = successOf(own);
            return (
              <tr key={one.id}>
                <td>
                  <Link href={`/channel/edit/${one.id}`}>{one.name}</Link>
                </td>
                <td>
                  {own === undefined ? (
                    '–'
                  ) : (
                    <span className={stateClasses[own.state]}>{t(`channels.state.${own.state}`)}</span>
                  )}
                </td>
                <td className="max-sm:hidden">
                  <TrafficBars bars={own?.period?.bars ?? []} />
                </td>
                <td className="number">
                  {share === null ? '–' : <span className={successClass(share)}>{successText(share)}</span>}
                </td>
                <td className="number max-sm:hidden">
                  {secondsText(own?.period?.first_token)} <span className="text-ink-3">/</span>{' '}
                  {secondsText(own?.period?.p95)}
                </td>
                <td className="number max-lg:hidden">{one.priority}</td>
                <td className="number max-sm:hidden">{costText(one)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {more > 0 ? (
        <p className="border-t border-line px-5 py-2">
          <Link href={`/channel?model=${encodeURIComponent(view.model)}`}>
            {t('pricing.moreChannels', { count: more })}
          </Link>
        </p>
      ) : null}
    </Card>
  );
}

export interface ModelPageProps {
  readonly model: string;
  readonly models: Models;
}

export function ModelPage({ model, models }: ModelPageProps) {
  const { t } = useTranslation();
  const user = useUser();
  const view = models.views.find((one) => one.model === model);
  const back = (
    <Link href="/pricing" className="button">
      {t('pricing.all')}
    </Link>
  );
  if (view === undefined && models.failure === null && !models.pending)
    return <Missing title={model} text={t('pricing.unknown')} href="/pricing" all={t('pricing.all')} />;
  if (view === undefined)
    return (
      <>
        <PageHead title={model}>{models.failure === null ? null : back}</PageHead>
        <div className="border-t border-line px-5 py-8 text-ink-2">
          {models.failure === null ? <Waiting /> : <FailureNote failure={models.failure} />}
        </div>
      </>
    );
  const { admin } = view;
  return (
    <>
      <PageHead title={model} count={view.maker === null ? undefined : textIn(view.maker, currentLanguage())}>
        {back}
        <button type="button" className="button" onClick={() => copyOrShow(model)}>
          <Icon name="copy" />
          <span className="max-sm:sr-only">{t('pricing.copyName')}</span>
        </button>
        {user === null ? null : (
          <Link href="/token?new=1" className="button button-primary">
            {t('pricing.newKey')}
          </Link>
        )}
      </PageHead>
      <div className="grid grid-cols-2 items-start gap-4 px-5 pb-6 max-md:grid-cols-1">
        <Card title={t('pricing.abilities')}>
          <DetailList
            rows={[
              [t('pricing.takes'), modalityText(t, view.takes)],
              [t('pricing.context'), sizeText(view.context)],
              [t('pricing.longest'), sizeText(view.longest)],
              ...(view.retired === undefined ? [] : [[t('pricing.retired'), view.retired] as const]),
              [t('pricing.interfaces'), endpointTypesOf(model).join(', ') || '–'],
            ]}
          />
        </Card>
        <Card title={t('pricing.prices')} flush>
          <GroupPrices view={view} models={models} />
          {admin === null ? null : <PriceChanges model={model} />}
        </Card>
        <div className="min-w-0 md:col-span-2">
          <CallExample title={t('pricing.call')} model={model} />
        </div>
        {admin === null ? null : (
          <>
            <div className="md:col-span-2">
              <Use view={{ ...view, admin }} />
            </div>
            <div className="min-w-0 empty:hidden md:col-span-2">
              <ChannelLatency model={model} />
            </div>
            <div className="min-w-0 md:col-span-2">
              <Channels view={{ ...view, admin }} />
            </div>
          </>
        )}
      </div>
    </>
  );
}
