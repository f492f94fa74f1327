/** What the table of budgets shows of each. */
import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { dateTime, grouped } from '../../lib/format.ts';
import type { Money } from '../../lib/money.ts';

export type Budget = OutputOf<EndpointOf<'budget.list'>>[number];

export interface BudgetColumnsOptions {
  readonly t: TFunction;
  readonly money: Money;
  readonly onEdit: (budget: Budget) => void;
  readonly onReset: (budget: Budget) => void;
  readonly onRemove: (budget: Budget) => void;
}

/** What a single request takes is not counted, and what each end user has used is in no table. */
const isUncounted = ({ holder, window }: Budget): boolean => window === 'request' || holder === 'end_user';

/** Warnings are sent from here on. */
const nearly = 0.75;
const almost = 0.9;

export const holderName = (t: TFunction, { holder, subject, name }: Budget): string =>
  holder === 'site' ? t('budgets.holders.site') : `${t(`budgets.holders.${holder}`)} ${name || subject}`;

/** @param of a budget's unit. */
const amountText = (t: TFunction, money: Money, unit: Budget['unit'], amount: number): string =>
  unit === 'money' ? money(amount) : t(`budgets.of.${unit}`, { count: amount, shown: grouped(amount) });

function Used({ budget, t, money }: Pick<BudgetColumnsOptions, 't' | 'money'> & { readonly budget: Budget }) {
  const { used, bound, unit } = budget;
  if (isUncounted(budget)) return t('budgets.most', { most: amountText(t, money, unit, bound) });
  const share = bound === 0 ? 1 : Math.min(1, used / bound);
  const color = share >= almost ? 'bg-danger-solid' : share >= nearly ? 'bg-warning-solid' : 'bg-success-solid';
  return (
    <span className="grid min-w-40 gap-1 py-1 max-sm:w-[calc(100vw-40px)]">
      <span>
        {t('budgets.usedOf', {
          used: amountText(t, money, unit, used),
          most: amountText(t, money, unit, bound),
          share: Math.floor(share * 100),
        })}
      </span>
      <span className="h-1 rounded-1 bg-sunken" aria-hidden="true">
        <span className={`block h-1 rounded-1 ${color}`} style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}

export function budgetColumns({
  t,
  money,
  onEdit,
  onReset,
  onRemove,
}: BudgetColumnsOptions): readonly Column<Budget>[] {
  return [
    {
      id: 'holder',
      header: t('budgets.holder'),
      key: true,
      lead: true,
      sort: (budget) => holderName(t, budget),
      cell: (budget) =>
        budget.holder === 'user' ? (
          <Link href={`/user/${budget.subject}`} className="font-medium text-ink-1 hover:underline">
            {holderName(t, budget)}
          </Link>
        ) : (
          <span className="font-medium text-ink-1">{holderName(t, budget)}</span>
        ),
    },
    {
      id: 'window',
      header: t('budgets.window'),
      key: true,
      cell: ({ window, zone }) => (
        <span>
          {t(`budgets.windows.${window}`)}
          {zone === '' ? null : <span className="text-ink-3">{` ${zone}`}</span>}
        </span>
      ),
    },
    {
      id: 'used',
      header: t('budgets.used'),
      key: true,
      sort: (budget) => (isUncounted(budget) ? 0 : budget.bound === 0 ? 1 : budget.used / budget.bound),
      cell: (budget) => <Used budget={budget} t={t} money={money} />,
    },
    {
      id: 'raise',
      header: t('budgets.raise'),
      from: 1280,
      cell: ({ raise, raise_until: until, unit }) =>
        raise === 0 || until * 1000 < Date.now() ? (
          <span className="text-ink-3">–</span>
        ) : (
          t('budgets.raisedUntil', { amount: amountText(t, money, unit, raise), time: dateTime(until) })
        ),
    },
    {
      id: 'resets',
      header: t('budgets.resets'),
      from: 1024,
      sort: ({ resets }) => resets ?? Number.POSITIVE_INFINITY,
      cell: ({ resets }) => (resets === null ? <span className="text-ink-3">–</span> : dateTime(resets)),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (budget) => (
        <RowActions
          name={holderName(t, budget)}
          quick={[{ id: 'edit', content: t('app.edit'), icon: 'edit', onPick: () => onEdit(budget) }]}
          more={[
            ...(isUncounted(budget)
              ? []
              : [{ id: 'reset', content: t('budgets.reset'), onPick: () => onReset(budget) }]),
            { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(budget) },
          ]}
        />
      ),
    },
  ];
}
