/** The machines that serve this site together: whether each is well, and how one is taken out. */
import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { failureIn } from '../../../server/contract/storage-reasons.ts';
import { Card } from '../../components/card.tsx';
import { Command, Empty } from '../../components/empty.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { minuteTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useList } from '../../lib/read.ts';
import { chapterAddress, useStatus } from '../../lib/status.ts';
import { type NodeRow, useNodeColumns } from './node-columns.tsx';
import { NodeDrawer } from './node-drawer.tsx';

const everyMs = 3000;

const database = 'postgres://db.example/gateway';

/** The site's database is a file: how it is served from more than one machine. */
function OneMachine() {
  const { t } = useTranslation();
  const status = useStatus().data;
  const facts = [
    [t('nodes.version'), status?.version],
    [t('nodes.started'), status?.start_time === undefined ? undefined : minuteTime(status.start_time)],
    [t('nodes.database'), t('nodes.file')],
  ] as const;
  return (
    <div className="grid items-start gap-4 px-5 pb-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
      <Card title={t('nodes.aloneTitle')}>
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2">
          {facts.map(([name, fact]) => (
            <Fragment key={name}>
              <dt className="text-ink-3">{name}</dt>
              <dd className="text-right tabular-nums">{fact ?? '–'}</dd>
            </Fragment>
          ))}
        </dl>
      </Card>
      <Card title={t('nodes.severalTitle')}>
        <p className="text-ink-2">{t('nodes.alone')}</p>
        <ol className="my-4 ml-5 grid list-decimal grid-cols-[minmax(0,1fr)] gap-3 marker:text-ink-3 [&_p]:mt-1">
          <li>
            {t('nodes.move')}
            <Command text={`gateway db move ${database}`} />
          </li>
          <li>
            {t('nodes.start')}
            <Command text={`gateway serve --database ${database}`} />
          </li>
          <li>{t('nodes.balance')}</li>
        </ol>
        <a href={chapterAddress('several-machines')} className="text-accent-text underline">
          {t('nodes.about')}
        </a>
      </Card>
    </div>
  );
}

export function NodesPage() {
  const { t } = useTranslation();
  const [open, setOpen] = useState('');
  const list = useList({ queryKey: ['nodes'], queryFn: () => call('node.list'), refetchInterval: everyMs });
  const rows: readonly NodeRow[] = (list.data?.nodes ?? []).map((node, index) => ({ ...node, id: index + 1 }));
  const columns = useNodeColumns();
  const selected = rows.find(({ name }) => name === open);
  if (list.data?.several === false)
    return (
      <ListPage title={t('nodes.title')}>
        <OneMachine />
      </ListPage>
    );
  return (
    <ListPage
      title={t('nodes.title')}
      count={list.data?.nodes.length}
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
        empty={<Empty text={t('nodes.none')} />}
      />
    </ListPage>
  );
}
