/** What the table of tokens shows of each. */
import type { TFunction } from 'i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { displayedKey, shortenedKey } from '../../../server/contract/token-key.ts';
import { Icon } from '../../components/icon.tsx';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime, day, grouped, relative } from '../../lib/format.ts';
import { keyUsage } from '../../lib/key-usage.ts';
import type { Money } from '../../lib/money.ts';
import { runUndoable } from '../../lib/undo.ts';
import { namesIn } from './key-summary.tsx';

const statusClasses = { 1: 'status', 2: 'status status-off', 3: 'status status-bad', 4: 'status status-bad' } as const;

export interface TokenColumnsOptions {
  readonly t: TFunction;
  readonly language: string;
  readonly money: Money;
  /** Requests by key; undefined = not known. */
  readonly today: ReadonlyMap<number, number> | undefined;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (token: Token) => void;
  readonly onUse: (token: Token) => void;
  readonly onShare: (token: Token) => void;
  readonly onRotate: (token: Token) => void;
  readonly onRemove: (token: Token) => void;
}

/** Nobody sees the key of a program that signed in. */
const hasKey = ({ kind }: Token): boolean => kind === undefined;

function TokenActions(props: TokenColumnsOptions & { readonly row: Token }) {
  const { row, t, refresh, onEdit, onUse, onShare, onRotate, onRemove } = props;
  const toggle = () => {
    const put = (status: number) => call('token.update', { id: row.id, status_only: true, status });
    void runUndoable({
      work: () => put(row.status === 1 ? 2 : 1),
      back: () => put(row.status === 1 ? 1 : 2),
      done: t('app.changed', { name: row.name }),
      refresh,
    });
  };
  const retire = () => attempt(() => call('token.retire', { id: row.id })).then(refresh);
  return (
    <RowActions
      name={row.name}
      quick={
        hasKey(row)
          ? [
              { id: 'copy', content: t('app.copy'), icon: 'copy', onPick: () => copyOrShow(displayedKey(row.key)) },
              { id: 'use', content: t('tokens.useWith'), icon: 'terminal', onPick: () => onUse(row) },
            ]
          : []
      }
      more={[
        { id: 'edit', content: t('app.edit'), onPick: () => onEdit(row) },
        ...(hasKey(row)
          ? [
              { id: 'give', content: t('tokens.give'), onPick: () => onShare(row) },
              { id: 'rotate', content: `${t('tokens.rotate')}…`, onPick: () => onRotate(row) },
            ]
          : []),
        ...(row.old_key_until === 0
          ? []
          : [{ id: 'retire', content: t('tokens.retire', { key: row.old_key_hint }), onPick: retire }]),
        { id: 'statement', content: t('statement.title'), href: `/statement?token=${row.id}` },
        { id: 'log', content: t('tokens.itsLog'), href: `/log?token=${encodeURIComponent(row.name)}` },
        { id: 'toggle', content: row.status === 1 ? t('app.disable') : t('app.enable'), onPick: toggle },
        { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(row) },
      ]}
    />
  );
}

/** From this share on the bar warns. */
const warningShare = 0.9;

function Spent({ row, t, money }: Pick<TokenColumnsOptions, 't' | 'money'> & { readonly row: Token }) {
  const { spend, used, limit } = keyUsage(row);
  const share = limit <= 0 ? 0 : Math.min(1, Math.max(0, used / limit));
  return (
    <span className="flex items-center gap-2">
      {spend === 'none' ? (
        <span className="w-24 flex-none max-lg:w-14 max-sm:hidden" />
      ) : (
        <span className="h-1 w-24 flex-none overflow-hidden rounded-1 bg-press max-lg:w-14" aria-hidden="true">
          <span
            className="block h-1"
            style={{
              width: `${share * 100}%`,
              background: share >= warningShare ? 'var(--warning-solid)' : 'var(--accent)',
            }}
          />
        </span>
      )}
      <span>
        {money(used)}{' '}
        <span className="text-ink-3">
          {spend === 'none' ? t('tokens.spentNone') : t(`tokens.spentOf.${spend}`, { limit: money(limit) })}
        </span>
      </span>
    </span>
  );
}

const maxVisible = 2;

export function tokenColumns(options: TokenColumnsOptions): readonly Column<Token>[] {
  const { t, language, money, today } = options;
  return [
    {
      id: 'name',
      header: t('tokens.name'),
      order: 'name',
      key: true,
      cell: (row) => (
        <span className="block py-1 max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:gap-x-2 max-sm:py-0">
          <span className="row-name font-medium text-ink-1" title={row.name}>
            {row.name}
          </span>
          <span className="block font-mono text-[12px] leading-4 text-ink-3">
            {hasKey(row) ? shortenedKey(row.key) : t('tokens.program')}
          </span>
          {hasKey(row) ? (
            <button
              type="button"
              className="button button-ghost button-icon -my-1 sm:hidden"
              aria-label={t('tokens.copyOf', { name: row.name })}
              onClick={() => copyOrShow(displayedKey(row.key))}
            >
              <Icon name="copy" />
            </button>
          ) : null}
        </span>
      ),
    },
    {
      id: 'status',
      header: t('tokens.status'),
      key: true,
      cell: (row) => (
        <span className="block">
          <span className={statusClasses[row.status as 1 | 2 | 3 | 4]}>
            {t(row.frozen_time === undefined ? `tokens.s${row.status as 1 | 2 | 3 | 4}` : 'tokens.frozen')}
          </span>
          {row.old_key_until === 0 ? null : (
            <span className="block text-[12px] text-warning" title={row.old_key_hint}>
              {t('tokens.oldKeyStops', { when: relative(row.old_key_until, language) })}
            </span>
          )}
          {row.link_until === 0 ? null : <span className="block text-[12px] text-ink-3">{t('tokens.linkOpen')}</span>}
        </span>
      ),
    },
    {
      id: 'used',
      header: t('tokens.spent'),
      key: true,
      order: 'used_quota',
      cell: (row) => <Spent row={row} t={t} money={money} />,
    },
    {
      id: 'models',
      from: 1024,
      header: t('tokens.models'),
      cell: (row) => {
        const names = row.model_limits_enabled ? namesIn(row.model_limits) : [];
        if (names.length === 0) return <span className="text-ink-3">{t('tokens.every')}</span>;
        const rest = names.length - maxVisible;
        return (
          <span className="text-ink-2" title={names.join('\n')}>
            {names.slice(0, maxVisible).join(', ')}
            {rest > 0 ? <span className="text-ink-3"> +{rest}</span> : null}
          </span>
        );
      },
    },
    {
      id: 'last',
      from: 720,
      header: t('tokens.lastUsed'),
      key: true,
      cell: (row) =>
        row.accessed_time === 0 ? (
          <span className="text-ink-3 max-sm:text-[12px]">{t('tokens.notUsed')}</span>
        ) : (
          <span className="max-sm:text-[12px] max-sm:text-ink-3" title={dateTime(row.accessed_time)}>
            {relative(row.accessed_time, language)}
            {row.last_ip === '' ? null : (
              <span className="block text-[12px] leading-4 text-ink-3 max-sm:hidden">{row.last_ip}</span>
            )}
          </span>
        ),
    },
    {
      id: 'today',
      from: 1280,
      header: t('tokens.today'),
      number: true,
      cell: (row) => (today === undefined ? '–' : grouped(today.get(row.id) ?? 0)),
    },
    {
      id: 'created',
      header: t('tokens.created'),
      order: 'created_time',
      hidden: true,
      cell: (row) => dateTime(row.created_time),
    },
    {
      id: 'expires',
      from: 1024,
      header: t('tokens.expires'),
      cell: (row) =>
        row.expired_time === -1 ? (
          <span className="text-ink-3">{t('tokens.never')}</span>
        ) : (
          <span title={dateTime(row.expired_time)}>
            {Math.abs(row.expired_time - Date.now() / 1000) < warningSeconds
              ? relative(row.expired_time, language)
              : day(row.expired_time, language)}
          </span>
        ),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => <TokenActions row={row} {...options} />,
    },
  ];
}

const warningSeconds = 14 * 86_400;
