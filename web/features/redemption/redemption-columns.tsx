/** What the table of codes shows of each. */
import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import type { Redemption } from '../../../server/contract/entities.ts';
import { Icon } from '../../components/icon.tsx';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { minuteTime } from '../../lib/format.ts';
import { runUndoable } from '../../lib/undo.ts';

const classes = { 1: 'status', 2: 'status status-off', 3: 'status status-off' } as const;

export interface RedemptionColumnsOptions {
  readonly t: TFunction;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (redemption: Redemption) => void;
  readonly onRemove: (redemption: Redemption) => void;
  /** Codes that were made together with the one above them: only the first of them is set in bold. */
  readonly continued: ReadonlySet<number>;
}

/** Made by one press: the same name, worth and times. */
const isOneBatch = (one: Redemption, other: Redemption | undefined): boolean =>
  one.name === other?.name &&
  one.quota === other.quota &&
  one.created_time === other.created_time &&
  one.expired_time === other.expired_time;

export const continuedIn = (rows: readonly Redemption[]): ReadonlySet<number> =>
  new Set(rows.filter((row, at) => isOneBatch(row, rows[at - 1])).map(({ id }) => id));

function RedemptionActions({
  row,
  t,
  refresh,
  onEdit,
  onRemove,
}: RedemptionColumnsOptions & { readonly row: Redemption }) {
  const toggle = () => {
    const put = (status: number) => call('redemption.update', { id: row.id, status_only: true, status });
    void runUndoable({
      work: () => put(row.status === 1 ? 2 : 1),
      back: () => put(row.status),
      done: t('app.changed', { name: row.name }),
      refresh,
    });
  };
  return (
    <RowActions
      name={row.name}
      quick={[
        ...(row.status === 1
          ? [{ id: 'edit', content: t('app.edit'), icon: 'edit' as const, onPick: () => onEdit(row) }]
          : []),
      ]}
      more={[
        ...(row.status === 3
          ? []
          : [{ id: 'status', content: row.status === 1 ? t('app.disable') : t('app.enable'), onPick: toggle }]),
        { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(row) },
      ]}
    />
  );
}

/** A code is told from others of its batch by its end; a click copies the whole. */
function CodeCell({ row, t }: { readonly row: Redemption; readonly t: TFunction }) {
  return (
    <button
      type="button"
      className="inline-flex min-h-6 items-center gap-1.5 rounded-1 font-mono text-[12px] text-ink-1 hover:text-accent-text"
      aria-label={t('redemption.copyCode', { end: row.key.slice(-4) })}
      title={t('app.copy')}
      onClick={() => copyOrShow(row.key)}
    >
      {`…${row.key.slice(-4)}`}
      <Icon name="copy" />
    </button>
  );
}

const muted = (text: string) => <span className="text-ink-3">{text}</span>;

export function redemptionColumns(options: RedemptionColumnsOptions): readonly Column<Redemption>[] {
  const { t, continued } = options;
  const shared = (row: Redemption, text: string, className = '') => (
    <span className={continued.has(row.id) ? '' : className}>{text}</span>
  );
  return [
    { id: 'id', header: t('users.id'), number: true, order: 'id', hidden: true, cell: (row) => row.id },
    {
      id: 'name',
      header: t('redemption.name'),
      key: true,
      order: 'name',
      cell: (row) => shared(row, row.name, 'font-medium text-ink-1'),
    },
    { id: 'code', header: t('wallet.code'), key: true, cell: (row) => <CodeCell row={row} t={t} /> },
    {
      id: 'status',
      header: t('redemption.status'),
      key: true,
      order: 'status',
      end: true,
      cell: (row) => {
        const status = row.status as 1 | 2 | 3;
        const expired = status === 1 && row.expired_time > 0 && row.expired_time * 1000 <= Date.now();
        return (
          <span className={expired ? 'status status-bad' : classes[status]}>
            {expired ? t('redemption.expired') : t(`redemption.s${status}`)}
          </span>
        );
      },
    },
    {
      id: 'quota',
      header: t('redemption.quota'),
      number: true,
      key: true,
      order: 'quota',
      amount: (row) => row.quota,
    },
    {
      id: 'created',
      from: 1024,
      header: t('redemption.created'),
      order: 'created_time',
      cell: (row) => shared(row, minuteTime(row.created_time)),
    },
    {
      id: 'expires',
      from: 1024,
      header: t('tokens.expires'),
      order: 'expired_time',
      cell: (row) => (row.expired_time > 0 ? shared(row, minuteTime(row.expired_time)) : muted(t('tokens.never'))),
    },
    {
      id: 'used',
      header: t('redemption.usedBy'),
      cell: (row) =>
        row.used_user_id === 0 ? (
          muted('–')
        ) : (
          <Link href={`/user/${row.used_user_id}`}>{row.used_username || row.used_user_id}</Link>
        ),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => <RedemptionActions row={row} {...options} />,
    },
  ];
}
