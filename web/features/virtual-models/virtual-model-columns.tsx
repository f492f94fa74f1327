/** What the table of virtual models shows of each. */
import type { TFunction } from 'i18next';
import { TargetPrice } from '../../components/prices/target-price.tsx';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import { minuteTime } from '../../lib/format.ts';
import { runUndoable } from '../../lib/undo.ts';
import { conditionWords } from './condition-words.ts';
import { typedTarget, type VirtualModelRow } from './target-form.ts';
import type { Market } from './use-virtual-models.ts';

export interface VirtualModelColumnsOptions {
  readonly t: TFunction;
  readonly market: Market;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (row: VirtualModelRow) => void;
  readonly onTry: (row: VirtualModelRow) => void;
  readonly onRemove: (row: VirtualModelRow) => void;
}

type CellProps = VirtualModelColumnsOptions & { readonly row: VirtualModelRow };

function Targets({ row, t, market }: CellProps) {
  return (
    <ol className="grid grid-cols-[minmax(0,1fr)] gap-y-0.5 py-1 max-sm:min-w-[80vw]">
      {row.targets.map((target, at) => {
        const price = market.priceOf(target);
        const { channel, group } = target;
        const words = [
          ...(channel === undefined ? [] : [`#${channel}`]),
          ...(group === undefined ? [] : [t('virtualModels.inGroup', { group })]),
          ...conditionWords(t, typedTarget(target, at)),
        ];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a model may be a target twice
          <li key={at} className="flex flex-wrap items-baseline gap-x-2">
            <span className="text-ink-3 tabular-nums">{at + 1}</span>
            <span className="text-ink-1">{target.model}</span>
            {price === null ? null : <TargetPrice price={price} />}
            {words.length === 0 ? null : (
              <span className="min-w-0 text-[12px] break-words whitespace-normal text-ink-3">{words.join(' · ')}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function Actions({ row, t, refresh, onEdit, onTry, onRemove }: CellProps) {
  const toggle = () => {
    const put = (enabled: boolean) => call('virtual_model.update', { id: row.id, enabled });
    void runUndoable({
      work: () => put(!row.enabled),
      back: () => put(row.enabled),
      done: t('app.changed', { name: row.name }),
      refresh,
    });
  };
  return (
    <RowActions
      name={row.name}
      quick={[
        { id: 'try', content: t('virtualModels.try'), disabled: !row.enabled, onPick: () => onTry(row) },
        { id: 'edit', content: t('app.edit'), icon: 'edit', onPick: () => onEdit(row) },
      ]}
      more={[
        { id: 'status', content: row.enabled ? t('app.disable') : t('app.enable'), onPick: toggle },
        { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(row) },
      ]}
    />
  );
}

const muted = (text: string) => <span className="text-ink-3">{text}</span>;

export function virtualModelColumns(options: VirtualModelColumnsOptions): readonly Column<VirtualModelRow>[] {
  const { t } = options;
  return [
    { id: 'id', header: t('users.id'), number: true, sort: ({ id }) => id, hidden: true, cell: ({ id }) => id },
    {
      id: 'name',
      header: t('virtualModels.name'),
      key: true,
      sort: ({ name }) => name,
      cell: ({ name, description }) => (
        <span className="grid">
          <span className="font-medium text-ink-1">{name}</span>
          {description === '' ? null : <span className="truncate text-[12px] text-ink-3">{description}</span>}
        </span>
      ),
    },
    {
      id: 'status',
      header: t('virtualModels.status'),
      key: true,
      sort: ({ enabled }) => Number(enabled),
      cell: ({ enabled }) => (
        <span className={enabled ? 'status' : 'status status-off'}>
          {enabled ? t('virtualModels.on') : t('virtualModels.off')}
        </span>
      ),
    },
    {
      id: 'targets',
      header: t('virtualModels.targetsPriced'),
      key: true,
      cell: (row) => <Targets row={row} {...options} />,
    },
    {
      id: 'boundary',
      header: t('virtualModels.boundary'),
      sort: ({ boundary }) => boundary,
      cell: ({ boundary }) => (boundary === '' ? muted(t('virtualModels.noBoundary')) : boundary),
    },
    {
      id: 'updated',
      header: t('virtualModels.updated'),
      from: 1280,
      sort: ({ updated_time: time }) => time,
      cell: ({ updated_time: time }) => minuteTime(time),
    },
    { id: 'actions', header: t('app.actions'), key: true, cell: (row) => <Actions row={row} {...options} /> },
  ];
}
