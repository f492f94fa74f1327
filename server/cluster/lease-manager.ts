/** Leases this machine's relays spend from: acquired from the ledger when they ask, recalled by other nodes, returned when nobody uses them. */

import { smallFor } from '../../db/postgres/leases.ts';
import { createLeases, type LeaseAnswer } from '../billing/leases/leases.ts';
import type { NodeLease } from '../billing/leases/node-lease.ts';
import type { LedgerCommand, LoanOrder } from '../billing/ledger/commands.ts';
import type { Grant, LeaseMove, MoveOutcome, Spared } from '../billing/ports.ts';
import { createLeaseDemand } from './lease-demand.ts';
import { createLeaseMessages, heard } from './lease-messages.ts';
import type { NodeLeaseStore, PlacesNews } from './lease-store-shared.ts';

export interface LeaseManager {
  acquire(order: LoanOrder): Promise<LeaseAnswer>;
  /** From another node, or from this one. */
  hear(text: string): void;
  /** All that was leased is void. */
  began(epoch: number): void;
  /** After the commit. */
  settled(commands: readonly LedgerCommand[], spared: readonly Spared[]): void;
  /** What a deduction may take is not to lie idle anywhere. */
  gather(account: number): Promise<void>;
  /** Somebody has changed a user or a key: what lies idle of them is leased anew, by the rules of now. */
  changed(news: Pick<PlacesNews, 'places'>): void;
  sweep(): void;
}

export interface LeaseManagerDeps {
  readonly reach: NodeLeaseStore;
  readonly nodeLease: NodeLease;
  readonly move: (moves: readonly LeaseMove[], epoch: number) => Promise<MoveOutcome>;
  readonly isUnresolved: (error: unknown) => boolean;
  /** The database cannot be asked. */
  readonly away: () => boolean;
  /** For so long a lease lasts without the database: what is likely to be used until then is leased. */
  readonly leaseMs: number;
  readonly epoch: () => number;
  readonly nodes: () => number;
  readonly tell: (text: string) => void;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
}

export function createLeaseManager(deps: LeaseManagerDeps): LeaseManager {
  const { reach, now, epoch } = deps;
  const messages = createLeaseMessages({ wire: deps, epoch, later: setImmediate });
  const leases = createLeases({
    reach,
    move: deps.move,
    isUnresolved: deps.isUnresolved,
    recall: messages.recall,
    answer: messages.answer,
    nodes: deps.nodes,
    away: deps.away,
    now,
    after: (ms, work) => void setTimeout(work, ms),
  });
  const demand = createLeaseDemand({
    now,
    spanMs: deps.leaseMs,
    idle: reach.idle,
    ahead: leases.ahead,
    giveBack: leases.idle,
  });

  return {
    async acquire({ userId, tokenId, house, more, wish }) {
      if (!(await reach.knows(userId, tokenId)) || !deps.nodeLease.isValid()) return 'away';
      const subjects = [
        ...(house ? [] : [{ kind: 'account' as const, id: userId, before: reach.idle('account', userId), got: 0 }]),
        ...(tokenId === 0
          ? []
          : [{ kind: 'token' as const, id: tokenId, before: reach.idle('token', tokenId), got: 0 }]),
      ];
      // What lies here is as much as the less of both; what was settled meanwhile counts like what came.
      const need = Math.min(...subjects.map(({ before }) => before)) + more;
      const lacks = (wanted: 'account' | 'token'): number => {
        const subject = subjects.find(({ kind }) => kind === wanted);
        if (subject === undefined) return 0;
        const { kind, id, before, got } = subject;
        return Math.max(0, need - Math.max(before + got, reach.idle(kind, id)));
      };
      const received = ({ granted, tokenGranted, most, tokenMost }: Grant) => {
        for (const subject of subjects) {
          const isAccount = subject.kind === 'account';
          subject.got += isAccount ? granted : tokenGranted;
          const { kind, id } = subject;
          demand.lent({
            kind,
            subject: id,
            owner: userId,
            need,
            small: (isAccount ? most : tokenMost) < smallFor * need,
          });
        }
      };
      return leases.request({
        account: userId,
        token: tokenId,
        need: more,
        use: wish - more + demand.forecast(userId),
        partial: true,
        missing: () => ({ account: lacks('account'), token: lacks('token') }),
        hold: () => deps.nodeLease.isValid() && lacks('account') + lacks('token') === 0,
        received,
      });
    },
    hear: (text) =>
      heard(text, epoch(), {
        recalled(account, token, by, mark, tokenOnly) {
          if (!tokenOnly) demand.wanted('account', account);
          if (token > 0) demand.wanted('token', token);
          leases.recalled(account, token, by, mark, tokenOnly);
        },
        answered: leases.answered,
      }),
    began(fresh) {
      demand.forget();
      leases.begin(fresh);
    },
    settled(commands, spared) {
      leases.settled(spared);
      demand.settled(commands);
    },
    gather(account) {
      demand.wanted('account', account);
      return leases.gather(account);
    },
    changed({ places }) {
      for (let at = 0; at < places.users.length; at += 2) leases.idle('account', places.users[at] ?? 0);
      for (let at = 0; at < places.tokens.length; at += 2) leases.idle('token', places.tokens[at] ?? 0);
    },
    sweep: demand.sweep,
  };
}
