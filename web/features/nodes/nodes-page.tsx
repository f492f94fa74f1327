/** The machines that serve this site together: whether each is well, and how one is taken out. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { failureIn } from '../../../server/contract/storage-reasons.ts';
import { Empty } from '../../components/empty.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useList } from '../../lib/read.ts';
import { type NodeRow, useNodeColumns } from './node-columns.tsx';
import { NodeDrawer } from './node-drawer.tsx';

const everyMs = 3000;

export function NodesPage() {
  const { t } = useTranslation();
  const [open, setOpen] = useState('');
  const list = useList({ queryKey: ['nodes'], queryFn: () => call('node.list'), refetchInterval: everyMs });
  const rows: readonly NodeRow[] = (list.data?.nodes ?? []).map((node, index) => ({ ...node, id: index + 1 }));
  const columns = useNodeColumns();
  const selected = rows.find(({ name }) => name === open);
  return (
    <ListPage
      title={t('nodes.title')}
      count={list.data?.several === true ? list.data.nodes.length : undefined}
      over={selected === undefined ? null : <NodeDrawer node={selected} onClose={() => setOpen('')} />}
    >
      <DataTable
        caption={t('nodes.title')}
        rows={rows}
        columns={columns}
        list={list}
        storeKey="nodes-table-columns"
        note={({ state, trouble }) =>
          state === 'live' && trouble !== null ? failureIn(trouble, currentLanguage()) : null
        }
        onOpen={({ name }) => setOpen(name)}
        empty={
          <Empty
            text={list.data?.several === true ? t('nodes.none') : t('nodes.alone')}
            command={list.data?.several === true ? 'gateway node list' : 'gateway db move postgres://…'}
          />
        }
      />
    </ListPage>
  );
}
