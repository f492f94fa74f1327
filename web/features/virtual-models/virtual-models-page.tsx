/** Names that stand for models tried in order: made, ordered, switched off, and tried without a call. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { AddButton } from '../../components/add-button.tsx';
import { Empty } from '../../components/empty.tsx';
import { SearchField } from '../../components/filters.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useUrl } from '../../lib/url.ts';
import type { VirtualModelRow } from './target-form.ts';
import { TryDrawer } from './try-drawer.tsx';
import { none, useMarket, useVirtualModels } from './use-virtual-models.ts';
import { virtualModelColumns } from './virtual-model-columns.tsx';
import { VirtualModelDrawer } from './virtual-model-drawer.tsx';

type Open = { readonly kind: 'edit' | 'try' | 'remove'; readonly row: VirtualModelRow } | { readonly kind: 'new' };

export function VirtualModelsPage() {
  const { t } = useTranslation();
  const url = useUrl();
  const [open, setOpen] = useState<Open | null>(null);
  const { list, refresh } = useVirtualModels();
  const close = () => setOpen(null);
  const all = list.data ?? none;
  const market = useMarket(all);
  const needle = url.get('q').trim().toLowerCase();
  const rows = all.filter(({ name, targets }) =>
    [name, ...targets.map(({ model }) => model)].some((one) => one.toLowerCase().includes(needle)),
  );
  const columns = virtualModelColumns({
    t,
    market,
    refresh,
    onEdit: (row) => setOpen({ kind: 'edit', row }),
    onTry: (row) => setOpen({ kind: 'try', row }),
    onRemove: (row) => setOpen({ kind: 'remove', row }),
  });
  return (
    <ListPage
      title={t('virtualModels.title')}
      count={list.data?.length}
      actions={<AddButton label={t('virtualModels.add')} onClick={() => setOpen({ kind: 'new' })} />}
      over={
        open === null ? null : open.kind === 'try' ? (
          <TryDrawer model={open.row} market={market} onClose={close} />
        ) : open.kind === 'remove' ? (
          <Confirm
            title={t('virtualModels.deleteTitle', { name: open.row.name })}
            text={t('virtualModels.deleteText')}
            action={t('app.delete')}
            onClose={close}
            onConfirm={async () => {
              close();
              await attempt(() => call('virtual_model.delete', { id: open.row.id }));
              await refresh();
            }}
          />
        ) : (
          <VirtualModelDrawer
            model={open.kind === 'new' ? null : open.row}
            market={market}
            onClose={close}
            onSaved={() => {
              close();
              toast.success(open.kind === 'new' ? t('virtualModels.createdOk') : t('virtualModels.updatedOk'));
              void refresh();
            }}
          />
        )
      }
    >
      <DataTable
        caption={t('virtualModels.title')}
        rows={rows}
        columns={columns}
        list={list}
        storeKey="virtual-models-table-columns"
        blank={needle === '' && list.data?.length === 0}
        onOpen={(row) => setOpen({ kind: 'edit', row })}
        bar={
          <SearchField
            slash
            className="h-7 w-52"
            label={t('virtualModels.search')}
            value={url.get('q')}
            onChange={(value) => url.set('q', value)}
          />
        }
        empty={
          all.length === 0 ? (
            <Empty
              text={t('virtualModels.empty')}
              command="gateway model chain add --name coder --target gpt-5 claude-sonnet-4-5"
            >
              <button type="button" className="button" onClick={() => setOpen({ kind: 'new' })}>
                {t('virtualModels.add')}
              </button>
            </Empty>
          ) : (
            <Empty text={t('virtualModels.none')}>
              <button type="button" className="button" onClick={() => url.put({ q: '' })}>
                {t('app.clearFilters')}
              </button>
            </Empty>
          )
        }
      />
    </ListPage>
  );
}
