/** One node: what it says of itself, and how it is taken out of the site. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Confirm, Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { memoryOf, type NodeRow, NodeState } from './node-columns.tsx';

export function NodeDrawer({ node, onClose }: { readonly node: NodeRow; readonly onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [asking, setAsking] = useState<'drain' | 'forget' | null>(null);
  const { name } = node;
  const act = async () => {
    setAsking(null);
    await attempt(
      () => (asking === 'drain' ? call('node.drain', { name }) : call('node.forget', { name, write_off: true })),
      asking === 'drain' ? t('nodes.drained') : t('nodes.forgotten'),
    );
    await client.invalidateQueries({ queryKey: ['nodes'] });
  };
  const facts: readonly (readonly [string, string])[] = [
    [t('nodes.version'), node.version],
    [t('nodes.started'), dateTime(node.started_at)],
    [t('nodes.heard'), t('nodes.seconds', { seconds: node.silent_seconds })],
    [t('nodes.memory'), memoryOf(node)],
    [t('nodes.news'), node.hears === false ? t('nodes.asks') : t('nodes.hears')],
  ];
  return (
    <Drawer
      title={name}
      onClose={onClose}
      footer={
        node.state === 'live' ? (
          <button type="button" className="button" onClick={() => setAsking('drain')}>
            {t('nodes.drain')}
          </button>
        ) : node.state === 'gone' ? (
          <button type="button" className="button text-danger" onClick={() => setAsking('forget')}>
            {t('nodes.forget')}
          </button>
        ) : null
      }
    >
      <p className="mb-3">
        <NodeState node={node} /> {node.trouble === '' ? null : <span className="text-danger">{node.trouble}</span>}
      </p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
        {facts.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-ink-3">{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {asking === null ? null : (
        <Confirm
          title={t(asking === 'drain' ? 'nodes.drainTitle' : 'nodes.forgetTitle', { name })}
          text={t(asking === 'drain' ? 'nodes.drainText' : 'nodes.forgetText')}
          action={t(asking === 'drain' ? 'nodes.drain' : 'nodes.forget')}
          onClose={() => setAsking(null)}
          onConfirm={() => void act()}
        />
      )}
    </Drawer>
  );
}
