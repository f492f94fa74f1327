/** Columns of money: one form for all amounts of a column, so that what stands below each other adds up. */
import { useMemo } from 'react';
import { formOfColumn, type MoneyForm } from '../../../server/contract/pricing/format.ts';
import { useMoney, useMoneyDetails } from '../../lib/money.ts';
import type { Column } from './column.ts';

/** @returns the same columns while neither they nor the forms of their amounts change. */
export function useMoneyColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly Column<Row>[] {
  const money = useMoney();
  const details = useMoneyDetails();
  const forms = columns.map(
    ({ amount, form }): MoneyForm =>
      amount === undefined || details === null
        ? 'cents'
        : (form ??
          formOfColumn(
            rows.flatMap((row) => amount(row) ?? []),
            details,
          )),
  );
  const key = forms.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the forms are new with every row, what they say is not
  return useMemo(
    () =>
      columns.map((column, index) => {
        const { amount, cell } = column;
        if (amount === undefined) return column;
        return {
          ...column,
          number: true,
          cell: (row: Row) => {
            const quota = amount(row);
            return quota === null ? cell?.(row) : money(quota, forms[index]);
          },
        };
      }),
    [columns, money, key],
  );
}
