import { useTranslation } from 'react-i18next';
import type { StorageFailure } from '../../../server/contract/storage-reasons.ts';
import type { Column } from '../../components/table/column.ts';
import { dateTime } from '../../lib/format.ts';

export interface NodeRow {
  readonly id: number;
  readonly name: string;
  readonly state: 'live' | 'draining' | 'gone';
  readonly version: string;
  readonly schema: string;
  readonly started_at: number;
  readonly silent_seconds: number;
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
  readonly relays: number | null;
  readonly leases: number;
  readonly leased_quota: number;
  readonly open: number;
  readonly settles_seconds: number | null;
  readonly owes: boolean;
  readonly forgotten: boolean;
  readonly waiting: number | null;
  readonly news_ms: number | null;
  readonly hears: boolean | null;
  readonly trouble: StorageFailure | null;
}

const classes = { live: 'status', draining: 'status status-wait', gone: 'status status-bad' } as const;
const megabyte = 1024 * 1024;

export const memoryOf = ({ memory_bytes }: NodeRow): string =>
  memory_bytes === null ? '' : `${Math.round(memory_bytes / megabyte)} MB`;

export function NodeState({ node }: { readonly node: NodeRow }) {
  const { t } = useTranslation();
  const isWell = node.state !== 'live' || node.trouble === null;
  return (
    <span className={isWell ? classes[node.state] : 'status status-bad'}>
      {isWell ? t(`nodes.s.${node.state}`) : t('nodes.troubled')}
    </span>
  );
}

export function useNodeColumns(): readonly Column<NodeRow>[] {
  const { t } = useTranslation();
  return [
    {
      id: 'name',
      header: t('nodes.name'),
      key: true,
      cell: (row) => <code className="font-mono text-[12px] break-all max-sm:whitespace-normal">{row.name}</code>,
    },
    { id: 'state', header: t('nodes.state'), key: true, cell: (row) => <NodeState node={row} /> },
    { id: 'version', header: t('nodes.version'), cell: (row) => row.version },
    {
      id: 'heard',
      header: t('nodes.heard'),
      key: true,
      number: true,
      cell: (row) => t('nodes.seconds', { seconds: row.silent_seconds }),
    },
    {
      id: 'cpu',
      header: t('nodes.cpu'),
      number: true,
      cell: (row) => (row.cpu_percent === null ? '' : `${row.cpu_percent}%`),
    },
    { id: 'memory', header: t('nodes.memory'), number: true, hidden: true, cell: memoryOf },
    { id: 'open', header: t('nodes.open'), number: true, cell: (row) => row.open },
    { id: 'leases', header: t('nodes.leases'), number: true, hidden: true, cell: (row) => row.leases },
    { id: 'leased', header: t('nodes.leased'), amount: (row) => row.leased_quota },
    { id: 'waiting', header: t('nodes.waiting'), number: true, cell: (row) => row.waiting ?? '' },
    {
      id: 'lag',
      header: t('nodes.lag'),
      number: true,
      cell: (row) => (row.news_ms === null ? '' : `${row.news_ms} ms`),
    },
    { id: 'started', header: t('nodes.started'), hidden: true, cell: (row) => dateTime(row.started_at) },
  ];
}
