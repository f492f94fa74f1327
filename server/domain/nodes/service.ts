/** The machines that serve a site together: how they stand, and how one is taken out. */
import type { Database } from '../../../db/open.ts';
import { createMembers, type MemberRow } from '../../../db/postgres/members.ts';
import { AppError } from '../../contract/errors.ts';
import { type NodeStats, readStats } from './stats.ts';

export interface NodeView extends NodeStats {
  readonly name: string;
  readonly state: 'live' | 'draining' | 'gone';
  readonly version: string;
  readonly schema: string;
  readonly started_at: number;
  readonly silent_seconds: number;
  readonly leases: number;
  readonly leased_quota: number;
  readonly open: number;
  readonly settles_seconds: number | null;
  readonly gone_seconds: number | null;
  readonly owes: boolean;
  readonly forgotten: boolean;
}

/** What is done about the bills and requests of a node that did not end in order. */
export type CloseReason =
  /** It is not forgotten. */
  | 'none'
  /** Given up now: open requests are settled as far as they were seen. */
  | 'write-off'
  /** The same when they have had their time. */
  | 'when-settled';

export type NodesService = ReturnType<typeof createNodes>;

const viewOf = (row: MemberRow): NodeView => ({
  name: row.node,
  state: row.state === 'expired' ? 'gone' : row.state,
  version: row.version,
  schema: row.schema,
  started_at: row.started_at,
  silent_seconds: row.silent,
  leases: row.leases,
  leased_quota: row.leased,
  open: row.holds,
  settles_seconds: row.settles,
  gone_seconds: row.silent < silentSeconds ? null : row.ends,
  owes: row.state === 'expired' && row.left_at === 0,
  forgotten: row.forgotten_at > 0,
  ...readStats(row.figures),
});

/** Three heartbeats and a little: a node that says nothing for so long may be dead. */
const silentSeconds = 10;

/** @param collect ends what nodes that are gone have left, where no node does it. */
export function createNodes(database: Database, collect: () => Promise<void> = async () => undefined) {
  const members = database.engine === 'postgres' ? createMembers(database) : null;
  /** @throws AppError nodes_alone, node_unknown */
  const found = async (name: string) => {
    if (members === null) throw new AppError('nodes_alone');
    const row = await members.find(name);
    if (row === null) throw new AppError('node_unknown', { name });
    return { members, row };
  };

  return {
    /** The site is made for more than one machine. */
    several: members !== null,
    list: async (): Promise<{ several: boolean; nodes: NodeView[] }> => ({
      several: members !== null,
      nodes: members === null ? [] : (await members.list()).map(viewOf),
    }),
    /** It ends what is under way, gives back what it leases, and its process ends. @throws AppError node_gone */
    async drain(name: string): Promise<void> {
      const { members: of } = await found(name);
      if (!(await of.drain(name))) throw new AppError('node_gone', { name });
    },
    /** @throws AppError node_lives, node_silent, node_owes */
    async forget(name: string, reason: CloseReason): Promise<void> {
      const { members: of, row } = await found(name);
      if (row.state !== 'expired' && row.silent >= silentSeconds)
        throw new AppError('node_silent', { name, silent: row.silent, seconds: row.ends ?? 0 });
      if (row.state !== 'expired') throw new AppError('node_lives', { name });
      if (row.left_at === 0 && reason === 'none') throw new AppError('node_owes', { name });
      await of.deleteOld(name, reason !== 'when-settled');
      await collect();
    },
  };
}
