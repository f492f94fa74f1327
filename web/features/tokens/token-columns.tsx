/** What the table of tokens shows of each. */
import type { TFunction } from 'i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { shownKey } from '../../../server/contract/token-key.ts';
import { Icon } from '../../components/icon.tsx';
import type { Column } from '../../components/table/column.ts';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime } from '../../lib/format.ts';
import { undoable } from '../../lib/undo.ts';

const statusLooks = { 1: 'status', 2: 'status status-off', 3: 'status status-bad', 4: 'status status-bad' } as const;

export interface TokenColumnsWanted {
  readonly t: TFunction;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (token: Token) => void;
  readonly onUse: (token: Token) => void;
  readonly onRemove: (token: Token) => void;
}

function TokenActions({ row, t, refresh, onEdit, onUse, onRemove }: TokenColumnsWanted & { readonly row: Token }) {
  const toggle = () => {
    const put = (status: number) => call('token.update', { id: row.id, status_only: true, status });
    void undoable({
      work: () => put(row.status === 1 ? 2 : 1),
      back: () => put(row.status === 1 ? 1 : 2),
      done: t('app.changed', { name: row.name }),
      refresh,
    });
  };
  return (
    <span className="flex gap-1">
      <button type="button" className="button" onClick={() => copyOrShow(shownKey(row.key))}>
        <Icon name="copy" />
        {t('app.copy')}
      </button>
      <button type="button" className="button button-ghost" onClick={() => onUse(row)}>
        {t('tokens.useWith')}
      </button>
      <button type="button" className="button button-ghost" onClick={toggle}>
        {row.status === 1 ? t('app.disable') : t('app.enable')}
      </button>
      <button type="button" className="button button-ghost" onClick={() => onEdit(row)}>
        {t('app.edit')}
      </button>
      <button type="button" className="button button-ghost text-danger" onClick={() => onRemove(row)}>
        {t('app.delete')}
      </button>
    </span>
  );
}

export function tokenColumns(wanted: TokenColumnsWanted): readonly Column<Token>[] {
  const { t } = wanted;
  return [
    {
      id: 'name',
      header: t('tokens.name'),
      order: 'name',
      key: true,
      cell: (row) => <span className="font-medium text-ink-1">{row.name}</span>,
    },
    {
      id: 'status',
      header: t('tokens.status'),
      key: true,
      cell: (row) => (
        <span className={statusLooks[row.status as 1 | 2 | 3 | 4]}>
          {t(`tokens.s${row.status as 1 | 2 | 3 | 4}`)}
          {row.model_limits_enabled ? <span className="text-ink-3">{t('tokens.limited')}</span> : null}
        </span>
      ),
    },
    {
      id: 'remaining',
      header: t('tokens.remaining'),
      number: true,
      key: true,
      amount: (row) => (row.unlimited_quota ? null : row.remain_quota),
      cell: () => t('tokens.unlimited'),
    },
    {
      id: 'used',
      header: t('tokens.used'),
      number: true,
      order: 'used_quota',
      amount: (row) => row.used_quota,
    },
    {
      id: 'created',
      header: t('tokens.created'),
      order: 'created_time',
      cell: (row) => dateTime(row.created_time),
    },
    {
      id: 'expires',
      header: t('tokens.expires'),
      cell: (row) => (row.expired_time === -1 ? t('tokens.never') : dateTime(row.expired_time)),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => <TokenActions row={row} {...wanted} />,
    },
  ];
}
