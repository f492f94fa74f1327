/** One node: what it says of itself, and how it is taken out of the site. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { failureIn } from '../../../server/contract/storage-reasons.ts';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime, duration } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useMoney } from '../../lib/money.ts';
import { isRoot, useUser } from '../../lib/session.ts';
import { memoryOf, type NodeRow, NodeState } from './node-columns.tsx';
import { RemoveDialog } from './remove-dialog.tsx';

export function NodeDrawer({ node, onClose }: { readonly node: NodeRow; readonly onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const root = isRoot(useUser());
  const [confirm, setConfirm] = useState<'drain' | 'forget' | null>(null);
  const { name, state } = node;
  const act = async (work: () => Promise<unknown>, done: string) => {
    setConfirm(null);
    await attempt(work, done);
    await client.invalidateQueries({ queryKey: ['nodes'] });
  };
  return (
    <Sheet
      title={name}
      onClose={onClose}
      footer={
        !root || state === 'draining' ? undefined : state === 'live' ? (
          <button type="button" className="button" onClick={() => setConfirm('drain')}>
            {t('nodes.drain')}
          </button>
        ) : (
          <button type="button" className="button text-danger" onClick={() => setConfirm('forget')}>
            {t('nodes.forget')}
          </button>
        )
      }
    >
      <NodeDetails node={node} />
      {confirm === 'drain' ? (
        <Confirm
          title={t('nodes.drainTitle', { name })}
          text={t('nodes.drainText')}
          action={t('nodes.drain')}
          onClose={() => setConfirm(null)}
          onConfirm={() => void act(() => call('node.drain', { name }), t('nodes.drained'))}
        />
      ) : null}
      {confirm === 'forget' ? (
        <RemoveDialog
          node={node}
          onClose={() => setConfirm(null)}
          onRemove={(later) =>
            void act(
              () => call('node.forget', later ? { name, when_settled: true } : { name, write_off: true }),
              t(later ? 'nodes.forgetting' : 'nodes.forgotten'),
            )
          }
        />
      ) : null}
    </Sheet>
  );
}

export function NodeDetails({ node }: { readonly node: NodeRow }) {
  const { t } = useTranslation();
  const money = useMoney();
  const valueWithUnit = (value: number | null, unit: string): string => (value === null ? '–' : `${value}${unit}`);
  const details: readonly (readonly [string, string])[] = [
    [t('nodes.version'), node.version],
    [t('nodes.schema'), node.schema],
    [t('nodes.started'), dateTime(node.started_at)],
    [t('nodes.heard'), t('nodes.seconds', { seconds: node.silent_seconds })],
    [t('nodes.cpu'), valueWithUnit(node.cpu_percent, '%')],
    [t('nodes.memory'), memoryOf(node) || '–'],
    [t('nodes.relays'), valueWithUnit(node.relays, '')],
    [t('nodes.open'), String(node.open)],
    [t('nodes.leases'), String(node.leases)],
    [t('nodes.leased'), money(node.leased_quota)],
    [t('nodes.waiting'), valueWithUnit(node.waiting, '')],
    [t('nodes.lag'), valueWithUnit(node.news_ms, ' ms')],
    [t('nodes.news'), node.hears === null ? '–' : node.hears ? t('nodes.hears') : t('nodes.asks')],
  ];
  return (
    <>
      <p className="mb-3">
        <NodeState node={node} />
      </p>
      {node.trouble === null ? null : <p className="mb-3 text-danger">{failureIn(node.trouble, currentLanguage())}</p>}
      {node.state !== 'gone' || !node.owes ? null : <p className="mb-3 text-ink-2">{t('nodes.owes')}</p>}
      {!node.forgotten ? null : (
        <p className="mb-3 text-ink-2">
          {t('nodes.untilForgotten', { time: duration(Math.round(node.settles_seconds ?? 0)) })}
        </p>
      )}
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
        {details.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-ink-3">{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
