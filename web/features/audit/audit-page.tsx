/** Who changed what with more than a user's rights, newest first: before and after, and the way back. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { AuditView } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { usePageState } from '../../components/pager.tsx';
import { RangeControl, useRange } from '../../components/range-control.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { dateTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useNarrow } from '../../lib/narrow.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';
import { changeText, detailText, targetText } from './change-words.ts';
import { EntrySheet } from './entry-sheet.tsx';

/** What the ids of calls begin with. */
const areas = [
  'option',
  'ratio',
  'channel',
  'virtual_model',
  'user',
  'token',
  'redemption',
  'wallet',
  'audit',
] as const;

/** As wide as its column has room for. */
const wide = 'block max-w-[clamp(12rem,24vw,28rem)] truncate max-sm:max-w-full';

export function AuditPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const url = useUrl();
  const pageState = usePageState();
  const { page, size } = pageState;
  const range = useRange('all');
  const narrow = useNarrow();
  const area = areas.find((name) => name === url.get('area'));
  const [actor, target] = [url.get('by'), url.get('target')];
  const filter = { action: area === undefined ? '' : `${area}.`, actor, target, from: range.from, to: range.to };
  const list = useList({
    queryKey: ['audit', currentLanguage(), page, size, filter],
    queryFn: () => call('audit.list', { p: page, page_size: size, ...filter }),
  });
  const rows = list.data?.items ?? [];
  const openId = Number(url.get('open')) || 0;
  const here = rows.find(({ id }) => id === openId);
  const other = useOptionalRead({
    queryKey: ['audit', currentLanguage(), openId],
    queryFn: () => call('audit.get', { id: openId }),
    enabled: openId > 0 && list.data !== undefined && here === undefined,
  }).data;
  const open = here ?? other;
  const columns: readonly Column<AuditView>[] = [
    { id: 'when', header: t('audit.when'), key: true, end: true, cell: (row) => dateTime(row.created_at) },
    {
      id: 'who',
      header: t('audit.who'),
      key: true,
      cell: ({ actor, target }) => (narrow && target !== '' ? `${actor} ·` : actor),
    },
    {
      id: 'action',
      header: t('audit.action'),
      key: true,
      lead: true,
      cell: (row) => (
        <span className={wide} title={row.action_label}>
          {row.action_label}
        </span>
      ),
    },
    {
      id: 'target',
      header: t('audit.target'),
      key: true,
      cell: (row) => (
        <span className="row-name" title={row.target}>
          {targetText(t, row)}
        </span>
      ),
    },
    {
      id: 'changes',
      header: t('audit.changes'),
      key: true,
      cell: (row) => {
        const [first, ...others] = row.changes;
        const more = others.length + row.changes_left;
        const text = first === undefined ? detailText(row.detail) : changeText(t, first, row);
        return (
          <span className={first === undefined ? `${wide} text-ink-3` : wide} title={text}>
            {text}
            {more === 0 ? null : <span className="text-ink-3">{` +${more}`}</span>}
          </span>
        );
      },
    },
    {
      id: 'from',
      header: t('audit.from'),
      from: 1280,
      cell: (row) => (
        <span className="text-ink-3">{row.ip === 'local' || row.ip === '' ? t('audit.local') : row.ip}</span>
      ),
    },
  ];
  return (
    <ListPage
      title={t('audit.title')}
      count={list.data?.total}
      actions={<RangeControl initial="all" all />}
      pager={{ ...pageState, total: list.data?.total }}
      over={
        open === undefined ? null : (
          <EntrySheet
            entry={open}
            onClose={url.close}
            onUndone={() => {
              url.close();
              void client.invalidateQueries();
            }}
          />
        )
      }
    >
      <DataTable
        caption={t('audit.title')}
        rows={rows}
        columns={columns}
        list={list}
        current={openId}
        storeKey="audit-table-columns"
        onOpen={({ id }) => url.show(String(id), openId > 0)}
        bar={
          <FilterBar
            filters={[
              { name: 'area', label: t('audit.area'), options: areas.map((name) => [name, t(`audit.areas.${name}`)]) },
              { name: 'by', label: t('audit.who') },
              { name: 'target', label: t('audit.target') },
            ]}
          />
        }
        empty={<Empty text={t('audit.none')} />}
      />
    </ListPage>
  );
}
