/** The reader's tokens: search, table, what is done to one or to several. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useLocation } from 'wouter';
import type { Token } from '../../../server/contract/entities.ts';
import { displayedKey } from '../../../server/contract/token-key.ts';
import { AddButton } from '../../components/add-button.tsx';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { SearchField } from '../../components/filters.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { useSelection } from '../../components/table/selection.ts';
import { UseWithDrawer } from '../../components/use-with.tsx';
import { copyOrShow } from '../../lib/copy.ts';
import { useMoney } from '../../lib/money.ts';
import type { Url } from '../../lib/url.ts';
import { OpenedToken } from './opened-token.tsx';
import { Rotation } from './rotate.tsx';
import { ShareKey } from './share.tsx';
import { RemoveToken, TokenBulk } from './token-bulk.tsx';
import { tokenColumns } from './token-columns.tsx';
import { tokenStatuses, useRequestsToday, useTokens } from './use-tokens.ts';

function TokenFilters({ url }: { readonly url: Url }) {
  const { t } = useTranslation();
  return (
    <FilterBar
      filters={[
        {
          name: 'status',
          label: t('tokens.status'),
          options: tokenStatuses.map((one) => [one, t(`tokens.s${one}`)] as const),
        },
      ]}
    >
      <SearchField
        slash
        className="h-7 w-52"
        label={t('tokens.keyword')}
        autoComplete="off"
        value={url.get('key') || url.get('q')}
        onChange={(value) => {
          const isKey = value.trim().startsWith('sk-');
          url.put({ q: isKey ? '' : value, key: isKey ? value : '' });
        }}
      />
    </FilterBar>
  );
}

function NoTokens({ searching, onAdd }: { readonly searching: boolean; readonly onAdd: () => void }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  return searching ? (
    <Empty text={t('tokens.none')}>
      <button type="button" className="button" onClick={() => navigate('/token')}>
        {t('app.clearFilters')}
      </button>
    </Empty>
  ) : (
    <Empty text={t('tokens.empty')} command="gateway token create --name my-key -q">
      <button type="button" className="button" onClick={onAdd}>
        {t('tokens.add')}
      </button>
    </Empty>
  );
}

export function TokensPage() {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  const client = useQueryClient();
  const { url, pageState, rows, total, list, searching, scope, all } = useTokens();
  const [selected, setSelected] = useSelection(scope);
  /** Where rows of other pages are picked too, they are known from here. */
  const [everything, setEverything] = useState<readonly Token[]>([]);
  const tokens = [...new Map([...everything, ...rows].map((row) => [row.id, row])).values()].filter(({ id }) =>
    selected.has(id),
  );
  const [removing, setRemoving] = useState<Token | null>(null);
  const [using, setUsing] = useState<Token | null>(null);
  const [giving, setGiving] = useState<Token | null>(null);
  const [rotating, setRotating] = useState<Token | null>(null);
  const [newToken, setNewToken] = useState<Token | null>(null);
  const today = useRequestsToday();
  const selection = { selected, onChange: setSelected };
  const { show } = url;
  const edit = useCallback((row: Token) => show(String(row.id)), [show]);
  const add = () => show('new');
  const refresh = useCallback(() => client.invalidateQueries({ queryKey: ['tokens'] }), [client]);
  // Rows are rendered again only when the columns change.
  const columns = useMemo(
    () =>
      tokenColumns({
        ...{ t, language: i18n.language, money, today, refresh },
        ...{ onEdit: edit, onUse: setUsing, onShare: setGiving, onRotate: setRotating, onRemove: setRemoving },
      }),
    [t, i18n.language, money, today, refresh, edit],
  );
  const copySelected = () => {
    const keys = tokens
      .filter(({ kind }) => kind === undefined)
      .map((row) => `${row.name}    ${displayedKey(row.key)}`);
    if (keys.length === 0) return void toast.error(t('tokens.pickOne'));
    void copyOrShow(keys.join('\n'));
  };

  return (
    <ListPage
      title={t('tokens.title')}
      count={total}
      actions={
        <>
          <button
            type="button"
            className={`button max-sm:hidden ${selected.size === 0 ? 'text-ink-3' : ''}`}
            onClick={copySelected}
          >
            {t('tokens.copyChosen')}
          </button>
          <AddButton label={t('tokens.add')} onClick={add} />
        </>
      }
      pager={{ ...pageState, total }}
      over={
        <>
          <TokenBulk
            {...{ rows, tokens, selection, refresh }}
            onCopy={copySelected}
            onAll={
              total !== undefined && total <= pageState.size
                ? null
                : async () => {
                    const found = await all();
                    setEverything(found);
                    setSelected(new Set(found.map(({ id }) => id)));
                  }
            }
          />
          <OpenedToken refresh={refresh} newToken={newToken} onNewToken={setNewToken} onShare={setGiving} />
          {giving === null ? null : <ShareKey token={giving} refresh={refresh} onClose={() => setGiving(null)} />}
          {rotating === null ? null : (
            <Rotation
              token={rotating}
              onClose={() => setRotating(null)}
              onRotated={(token) => {
                setNewToken(token);
                void refresh();
              }}
            />
          )}
          {using === null ? null : <UseWithDrawer token={using} onCopy={copyOrShow} onClose={() => setUsing(null)} />}
          {removing === null ? null : (
            <RemoveToken token={removing} refresh={refresh} onClose={() => setRemoving(null)} />
          )}
        </>
      }
    >
      <DataTable
        caption={t('tokens.title')}
        rows={rows}
        columns={columns}
        list={list}
        onOpen={edit}
        selection={selection}
        storeKey="tokens-table-columns"
        blank={!searching && total === 0}
        place="tokens"
        bar={<TokenFilters url={url} />}
        empty={<NoTokens searching={searching} onAdd={add} />}
      />
    </ListPage>
  );
}
