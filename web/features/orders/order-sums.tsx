/** All orders that the filter finds, not those of one page: how many, what was paid, what was credited. */
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { states } from '../../components/order-state.tsx';
import { grouped } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useMoney } from '../../lib/money.ts';

type Sums = OutputOf<EndpointOf<'wallet.orders'>>['sums'];

/** An amount of a currency with its thousands apart. @param amount as the site sends it: `7519.00`. */
const cents = (amount: string): string =>
  new Intl.NumberFormat(currentLanguage(), { minimumFractionDigits: 2 }).format(Number(amount));

export function OrderSums({ sums }: { readonly sums: Sums }) {
  const { t } = useTranslation();
  const money = useMoney();
  const countOf = (of: Sums): number => of.reduce((sum, { orders }) => sum + orders, 0);
  const paid = sums.filter(({ status }) => status === 'success');
  const figures: readonly (readonly [string, string])[] = [
    [t('orders.orders'), grouped(countOf(sums))],
    ...states.flatMap((state): (readonly [string, string])[] => {
      const count = countOf(sums.filter(({ status }) => status === state));
      return count === 0 ? [] : [[t(`orders.s.${state}`), grouped(count)]];
    }),
    ...(paid.length === 0
      ? []
      : ([
          [t('orders.sum'), paid.map((sum) => `${cents(sum.money)} ${sum.currency.toUpperCase()}`).join(' + ')],
          [t('wallet.credited'), money(paid.reduce((sum, { quota }) => sum + quota, 0))],
        ] as const)),
  ];
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-1 px-5 pb-3">
      {figures.map(([label, value]) => (
        <div key={label} className="flex gap-1.5">
          <dt className="text-ink-3">{label}</dt>
          <dd className="font-medium">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
