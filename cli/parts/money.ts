/** Amounts as the site shows them, in tables and in sentences. */
import { formatQuota, formOfColumn, type MoneyForm } from '../../server/contract/pricing/format.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output.ts';

export interface Money {
  /** Amounts are shown in the currency, not in quota. */
  readonly inCurrency: boolean;
  readonly quotaPerUnit: number;
  readonly of: (quota: number, form?: MoneyForm) => string;
  /** A column whose amounts have one form, so that they add up. @param otherwise what stands where there is none. */
  readonly column: <Row>(name: string, amount: (row: Row) => number | null, otherwise?: string) => Column<Row>;
}

export async function moneyOf(context: Context): Promise<Money> {
  const status = await (await context.client()).call('status.get');
  const facts = {
    inCurrency: status.display_in_currency !== false,
    quotaPerUnit: Number(status.quota_per_unit),
  };
  const of = (quota: number, form: MoneyForm = 'short'): string => formatQuota(quota, facts, form);
  return {
    inCurrency: facts.inCurrency,
    quotaPerUnit: facts.quotaPerUnit,
    of,
    column: (name, amount, otherwise = '') => {
      const forms = new WeakMap<object, MoneyForm>();
      return {
        name,
        right: true,
        value: (row, rows) => {
          const quota = amount(row);
          if (quota === null) return otherwise;
          const amounts = () => rows.flatMap((one) => amount(one) ?? []);
          const form = forms.get(rows) ?? formOfColumn(amounts(), facts);
          forms.set(rows, form);
          return of(quota, form);
        },
      };
    },
  };
}
