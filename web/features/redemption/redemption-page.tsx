/** Codes that are worth something: made, copied, switched off. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { type Redemption, redemptionStates } from '../../../server/contract/entities.ts';
import { redemptionSorts } from '../../../server/contract/sort.ts';
import { AddButton } from '../../components/add-button.tsx';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { SearchField } from '../../components/filters.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { usePageState } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { useSelection } from '../../components/table/selection.ts';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useList } from '../../lib/read.ts';
import { sortIn, useUrl } from '../../lib/url.ts';
import { continuedIn, redemptionColumns } from './redemption-columns.tsx';
import { RedemptionDialogs } from './redemption-dialog.tsx';

const stateNames = {
  unused: 'redemption.s1',
  disabled: 'redemption.s2',
  used: 'redemption.s3',
  expired: 'redemption.expired',
} as const;

export function RedemptionPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const url = useUrl();
  const [edited, setEdited] = useState<Redemption | 'new' | null>(null);
  const [removing, setRemoving] = useState<Redemption | null>(null);
  const pageState = usePageState();
  const { page, size } = pageState;
  const keyword = url.get('q');
  const status = redemptionStates.find((state) => state === url.get('status'));
  const sort = sortIn(url, redemptionSorts);
  const [picked, setPicked] = useSelection(`${page} ${size} ${keyword} ${status} ${sort}`);
  const list = useList({
    queryKey: ['redemptions', page, size, keyword, status, sort],
    queryFn: () =>
      keyword === ''
        ? call('redemption.list', { p: page, page_size: size, sort, status })
        : call('redemption.search', { keyword, p: page, page_size: size, sort, status }),
  });
  const rows = list.data?.items ?? [];
  const refresh = () => client.invalidateQueries({ queryKey: ['redemptions'] });
  const copyPicked = () => {
    const keys = rows.filter((row) => picked.has(row.id)).map((row) => `${row.name}    ${row.key}`);
    if (keys.length === 0) return void toast.error(t('redemption.pickOne'));
    void copyOrShow(keys.join('\n'));
  };
  return (
    <ListPage
      title={t('redemption.title')}
      count={list.data?.total}
      actions={
        <>
          <button type="button" className="button max-sm:hidden" aria-disabled={picked.size === 0} onClick={copyPicked}>
            {t('redemption.copyPicked')} {picked.size === 0 ? null : picked.size}
          </button>
          <AddButton label={t('redemption.add')} onClick={() => setEdited('new')} />
        </>
      }
      pager={{ ...pageState, total: list.data?.total }}
      over={<RedemptionDialogs {...{ edited, removing, refresh }} onEdit={setEdited} onRemove={setRemoving} />}
    >
      <DataTable
        caption={t('redemption.title')}
        rows={rows}
        columns={redemptionColumns({
          t,
          refresh,
          continued: continuedIn(rows),
          onEdit: setEdited,
          onRemove: setRemoving,
        })}
        list={list}
        selection={{ selected: picked, onChange: setPicked }}
        storeKey="redemptions-table-columns"
        blank={keyword === '' && status === undefined && list.data?.total === 0}
        place="redemptions"
        bar={
          <FilterBar
            filters={[
              {
                name: 'status',
                label: t('redemption.status'),
                options: redemptionStates.map((state) => [state, t(stateNames[state])]),
              },
            ]}
          >
            <SearchField
              slash
              className="h-7 w-56"
              label={t('redemption.keyword')}
              value={keyword}
              onChange={(value) => url.set('q', value)}
            />
          </FilterBar>
        }
        onOpen={(row) => (row.status === 1 ? setEdited(row) : undefined)}
        empty={
          keyword === '' && status === undefined ? (
            <Empty text={t('redemption.empty')} command="gateway redemption create --quota 5usd --count 10 --name gift">
              <button type="button" className="button" onClick={() => setEdited('new')}>
                {t('redemption.add')}
              </button>
            </Empty>
          ) : (
            <Empty text={t('redemption.none')}>
              <button type="button" className="button" onClick={() => url.put({ q: '', status: '' })}>
                {t('app.clearFilters')}
              </button>
            </Empty>
          )
        }
      />
    </ListPage>
  );
}
