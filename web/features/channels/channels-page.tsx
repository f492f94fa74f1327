/** Upstream channels: filters, table or tags, drawers. */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useLocation } from 'wouter';
import type { Channel } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { dateTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useUrl } from '../../lib/url.ts';
import { useChannelActions } from './actions.ts';
import { ChannelBulk } from './channel-bulk.tsx';
import { channelColumns } from './channel-columns.tsx';
import { ChannelDrawer } from './channel-drawer.tsx';
import type { ChannelType } from './channel-form.ts';
import { PageMenu } from './page-menu.tsx';
import { TagDrawer } from './tag-drawer.tsx';
import type { TagRow } from './tag-rows.ts';
import { TagTable } from './tag-table.tsx';
import { TestDrawer } from './test-drawer.tsx';

const idSortKey = 'id-sort';
const noTypes: readonly ChannelType[] = [];

/** Why the relay took a channel out of service, as it was kept. */
function troubleOf({ status, other_info: info }: Channel): { readonly reason: string; readonly at: number } | null {
  if (status !== 3 || info === '') return null;
  try {
    const { status_reason: reason, status_time: at } = JSON.parse(info) as {
      status_reason?: string;
      status_time?: number;
    };
    return reason === undefined ? null : { reason, at: at ?? 0 };
  } catch {
    return null;
  }
}

export function ChannelsPage() {
  const { t } = useTranslation();
  const url = useUrl();
  const actions = useChannelActions();
  const [path, navigate] = useLocation();
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const [removing, setRemoving] = useState<Channel | null>(null);
  const [testing, setTesting] = useState<Channel | null>(null);
  const [tag, setTag] = useState<TagRow | null>(null);
  const [idSort, setIdSort] = useState(() => localStorage.getItem(idSortKey) === 'true');
  const [keyword, group, model] = [url.get('q'), url.get('group'), url.get('model')];
  const [status, type, onlyTag] = [Number(url.get('status')), Number(url.get('type')), url.get('tag')];
  const tagMode = url.get('mode') === 'tag';
  const types =
    useQuery({ queryKey: ['channel-types'], queryFn: () => call('channel.types'), staleTime: Number.POSITIVE_INFINITY })
      .data ?? noTypes;
  const groups = useQuery({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const list = useQuery({
    queryKey: ['channels', keyword, group, model, idSort],
    queryFn: () => call('channel.search', { keyword, group, model, id_sort: idSort }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const all = list.data;
  const channels = useMemo(
    () =>
      (all ?? []).filter(
        (channel) =>
          (status === 0 || channel.status === status) &&
          (type === 0 || channel.type === type) &&
          (onlyTag === '' || channel.tag === onlyTag),
      ),
    [all, status, type, onlyTag],
  );
  const editing = /^\/channel\/edit\/(\d+)$/.exec(path)?.[1];
  const edited = editing === undefined ? undefined : all?.find(({ id }) => id === Number(editing));
  const back = () => navigate(`/channel${location.search}`);
  const lost = editing !== undefined && all !== undefined && edited === undefined;
  useEffect(() => {
    if (!lost) return;
    toast.error(t('channels.lost'));
    navigate('/channel');
  }, [lost, t, navigate]);
  const typeName = (wanted: number): string =>
    types.find((one) => one.type === wanted)?.[currentLanguage()] ?? String(wanted);
  const actionsNow = useRef(actions);
  actionsNow.current = actions;
  // Rows are built anew only when their columns are other ones.
  const columns = useMemo(
    () =>
      channelColumns({
        t,
        actions: actionsNow.current,
        typeName: (wanted) => types.find((one) => one.type === wanted)?.[currentLanguage()] ?? String(wanted),
        onEdit: ({ id }) => navigate(`/channel/edit/${id}${location.search}`),
        onTest: setTesting,
        onRemove: setRemoving,
      }),
    [t, types, navigate],
  );
  const note = useCallback(
    (row: Channel) => {
      const trouble = troubleOf(row);
      return trouble === null ? null : t('channels.trouble', { time: dateTime(trouble.at), reason: trouble.reason });
    },
    [t],
  );
  const filtered = [keyword, group, model, url.get('status'), url.get('type'), onlyTag].some((value) => value !== '');
  const select = (name: string, label: string, options: readonly (readonly [string, string])[]) => (
    <select
      className="field h-7 w-auto"
      aria-label={label}
      value={url.get(name)}
      onChange={(event) => url.set(name, event.target.value)}
    >
      <option value="">{label}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
  const toggle = (label: string, on: boolean, change: (on: boolean) => void) => (
    <label className="flex items-center gap-1.5 text-[12px] text-ink-2">
      <input
        type="checkbox"
        className="size-4 accent-(--accent)"
        checked={on}
        onChange={(event) => change(event.target.checked)}
      />
      {label}
    </label>
  );
  const bar = (
    <>
      <input
        type="search"
        data-key="/"
        className="field h-7 w-48"
        placeholder={t('channels.search')}
        aria-label={t('channels.search')}
        value={keyword}
        onChange={(event) => url.set('q', event.target.value)}
      />
      {select(
        'group',
        t('channels.group'),
        groups.map((name) => [name, name]),
      )}
      <input
        className="field h-7 w-32"
        placeholder={t('channels.model')}
        aria-label={t('channels.model')}
        value={model}
        onChange={(event) => url.set('model', event.target.value)}
      />
      {select('status', t('channels.status'), [
        ['1', t('channels.s1')],
        ['2', t('channels.s2')],
        ['3', t('channels.s3')],
      ])}
      {select(
        'type',
        t('channels.type'),
        [...new Set((all ?? []).map((channel) => channel.type))].map((one) => [String(one), typeName(one)]),
      )}
      {toggle(t('channels.idSort'), idSort, (on) => {
        localStorage.setItem(idSortKey, String(on));
        setIdSort(on);
      })}
      {toggle(t('channels.tagMode'), tagMode, (on) => url.set('mode', on ? 'tag' : ''))}
      {filtered ? (
        <button type="button" className="button button-ghost" onClick={() => navigate('/channel')}>
          {t('channels.clear')}
        </button>
      ) : null}
    </>
  );

  return (
    <>
      <PageHead title={t('channels.title')} count={list.data === undefined ? undefined : channels.length}>
        <PageMenu actions={actions} />
        <button
          type="button"
          data-key="n"
          className="button button-primary"
          onClick={() => navigate(`/channel/add${location.search}`)}
        >
          <Icon name="plus" />
          {t('channels.add')}
        </button>
      </PageHead>
      {tagMode ? (
        <>
          <div className="flex flex-wrap items-center gap-2 px-5 pb-3">{bar}</div>
          <TagTable
            channels={channels}
            loading={list.isPending}
            actions={actions}
            onEdit={setTag}
            onOpen={(row) => navigate(`/channel?tag=${encodeURIComponent(row.tag)}`)}
          />
        </>
      ) : (
        <DataTable
          caption={t('channels.title')}
          rows={channels}
          columns={columns}
          loading={list.isPending}
          onOpen={({ id }) => navigate(`/channel/edit/${id}${location.search}`)}
          selection={{ chosen, onChange: setChosen }}
          storeKey="channels-table-columns"
          place="channels"
          bar={bar}
          note={note}
          empty={
            filtered ? (
              <Empty text={t('channels.noMatch')}>
                <button type="button" className="button" onClick={() => navigate('/channel')}>
                  {t('app.clearFilters')}
                </button>
              </Empty>
            ) : (
              <Empty
                text={t('channels.empty')}
                command="echo none | gateway channel add --type practice --name try --key-stdin"
              >
                <button type="button" className="button" onClick={() => navigate('/channel/add')}>
                  {t('channels.add')}
                </button>
              </Empty>
            )
          }
        />
      )}
      <ChannelBulk channels={channels} selection={{ chosen, onChange: setChosen }} actions={actions} />
      {path === '/channel/add' || edited !== undefined ? (
        <ChannelDrawer
          key={path}
          channel={edited ?? null}
          types={types}
          onClose={back}
          onSaved={(fresh) => {
            back();
            toast.success(fresh ? t('channels.createdOk') : t('channels.updatedOk'));
            void actions.refresh();
          }}
        />
      ) : null}
      {testing === null ? null : <TestDrawer channel={testing} actions={actions} onClose={() => setTesting(null)} />}
      {tag === null ? null : <TagDrawer row={tag} actions={actions} onClose={() => setTag(null)} />}
      {removing === null ? null : (
        <Confirm
          title={t('channels.deleteTitle', { name: removing.name })}
          text={t('channels.deleteText')}
          action={t('app.delete')}
          onClose={() => setRemoving(null)}
          onConfirm={() => {
            setRemoving(null);
            void actions.run(
              () => call('channel.delete', { id: removing.id }),
              t('channels.deletedMany', { count: 1 }),
            );
          }}
        />
      )}
    </>
  );
}
