/** What keys, users, groups and the site may use in a window: how much of it is used; raised for a while, and reset. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { type BudgetHolder, budgetHolders } from '../../../server/contract/budgets.ts';
import { AddButton } from '../../components/add-button.tsx';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useMoney } from '../../lib/money.ts';
import { useList } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';
import { type Budget, budgetColumns, holderName } from './budget-columns.tsx';
import { BudgetDrawer } from './budget-drawer.tsx';

type Open = { readonly kind: 'new' } | { readonly kind: 'edit' | 'reset' | 'remove'; readonly budget: Budget };

export function BudgetsPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const money = useMoney();
  const url = useUrl();
  const [open, setOpen] = useState<Open | null>(null);
  const holder = budgetHolders.find((name) => name === url.get('holder'));
  const list = useList({
    queryKey: ['budgets', holder],
    queryFn: () => call('budget.list', holder === undefined ? {} : { holder }),
  });
  const close = () => setOpen(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['budgets'] });
  const work = async (done: Promise<unknown>) => {
    close();
    await attempt(() => done, t('settings.saved'));
    await refresh();
  };
  const columns = budgetColumns({
    t,
    money,
    onEdit: (budget) => setOpen({ kind: 'edit', budget }),
    onReset: (budget) => setOpen({ kind: 'reset', budget }),
    onRemove: (budget) => setOpen({ kind: 'remove', budget }),
  });
  return (
    <ListPage
      title={t('budgets.title')}
      count={list.data?.length}
      actions={<AddButton label={t('budgets.add')} onClick={() => setOpen({ kind: 'new' })} />}
      over={
        open === null ? null : open.kind === 'reset' ? (
          <Confirm
            title={t('budgets.resetTitle', { name: holderName(t, open.budget) })}
            text={t('budgets.resetText')}
            action={t('budgets.reset')}
            onClose={close}
            onConfirm={() => void work(call('budget.reset', { id: open.budget.id }))}
          />
        ) : open.kind === 'remove' ? (
          <Confirm
            title={t('budgets.deleteTitle', { name: holderName(t, open.budget) })}
            text={t('budgets.deleteText')}
            action={t('app.delete')}
            onClose={close}
            onConfirm={() => void work(call('budget.delete', { id: open.budget.id }))}
          />
        ) : (
          <BudgetDrawer
            budget={open.kind === 'new' ? null : open.budget}
            onClose={close}
            onSaved={() => {
              close();
              toast.success(t('settings.saved'));
              void refresh();
            }}
          />
        )
      }
    >
      <DataTable
        caption={t('budgets.title')}
        rows={list.data ?? []}
        columns={columns}
        list={list}
        storeKey="budgets-table-columns"
        blank={holder === undefined && list.data?.length === 0}
        onOpen={(budget) => setOpen({ kind: 'edit', budget })}
        bar={
          <FilterBar
            filters={[
              {
                name: 'holder',
                label: t('budgets.holder'),
                options: budgetHolders.map((name: BudgetHolder) => [name, t(`budgets.holders.${name}`)]),
              },
            ]}
          />
        }
        empty={
          <Empty text={t('budgets.empty')} command="gateway budget set --site --window month --amount 1000usd">
            <button type="button" className="button" onClick={() => setOpen({ kind: 'new' })}>
              {t('budgets.add')}
            </button>
          </Empty>
        }
      />
    </ListPage>
  );
}
