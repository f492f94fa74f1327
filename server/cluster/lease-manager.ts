/** Leases this machine's relays spend from: acquired from the ledger when they ask, recalled by other nodes, returned when they are idle. */

import { ampleFor, smallFor } from '../../db/postgres/leases.ts';
import { type LeaseAnswer, Leases } from '../billing/leases/leases.ts';
import type { NodeLease } from '../billing/leases/node-lease.ts';
import type { LeaseOrder, LedgerCommand } from '../billing/ledger/commands.ts';
import type { Grant, LeaseMove, MoveOutcome, UnspentLease } from '../billing/ports.ts';
import { amountIn } from '../contract/budgets.ts';
import { createLeaseDemand } from './lease-demand.ts';
import { createLeaseMessages, createMessageNumbers, received } from './lease-messages.ts';
import type { NodeLeaseStore, SlotsUpdate } from './lease-store-shared.ts';

export interface LeaseManager {
  acquire(order: LeaseOrder): Promise<LeaseAnswer>;
  /** From another node, or from this one. */
  receive(text: string): void;
  /** All that was leased is void. */
  started(epoch: number): void;
  /** After the commit. */
  settled(commands: readonly LedgerCommand[], unspent: readonly UnspentLease[]): void;
  /** Amounts that a deduction may take must not be idle on any node. */
  recallAll(account: number): Promise<void>;
  /** A user, a key or a budget was changed: what is idle of its leases is acquired again, by the current rules. */
  changed(update: Pick<SlotsUpdate, 'slots' | 'changed' | 'budgets'>): void;
  cleanup(): void;
}

export interface LeaseManagerDeps {
  readonly leaseStore: NodeLeaseStore;
  readonly nodeLease: NodeLease;
  readonly move: (moves: readonly LeaseMove[], epoch: number) => Promise<MoveOutcome>;
  readonly isUncertain: (error: unknown) => boolean;
  /** The database cannot be reached. */
  readonly unavailable: () => boolean;
  /** How long a lease lasts without the database: the expected use of that time is leased. */
  readonly leaseMs: number;
  readonly epoch: () => number;
  readonly nodes: () => number;
  readonly send: (text: string) => void;
  /** Epoch milliseconds. */
  readonly wall: () => number;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
}

export function createLeaseManager(deps: LeaseManagerDeps): LeaseManager {
  const { leaseStore, now, epoch } = deps;
  const nextNumber = createMessageNumbers();
  const linesOf = (kind: 'account' | 'budget'): Leases => {
    const { recall, answer } = createLeaseMessages({ wire: deps, epoch, later: setImmediate, kind, nextNumber });
    const { move, isUncertain, nodes, unavailable } = deps;
    const after = (ms: number, work: () => void) => void setTimeout(work, ms);
    return new Leases({ kind, leaseStore, move, isUncertain, recall, answer, nodes, unavailable, now, after });
  };
  const leases = linesOf('account');
  /** Of each budget by itself: a request that needs several asks for all at once. */
  const budgets = linesOf('budget');
  const demand = createLeaseDemand({
    now,
    spanMs: deps.leaseMs,
    idle: leaseStore.idle,
    prefetch: (account, token, amount, done) =>
      leases.prefetch(account, token, amount, (grant) =>
        done(
          grant === null
            ? null
            : {
                granted: token === 0 ? grant.granted : grant.tokenGranted,
                left: token === 0 ? grant.max : grant.tokenMax,
              },
        ),
      ),
    release: (kind, subject) => leases.idle(kind, subject),
  });
  const budgetDemand = createLeaseDemand({
    now,
    spanMs: deps.leaseMs,
    idle: leaseStore.idle,
    prefetch: (budget, _token, amount, done) =>
      budgets.prefetch(budget, 0, amount, (grant) =>
        done(grant === null ? null : { granted: grant.granted, left: grant.max }),
      ),
    release: (kind, subject) => budgets.idle(kind, subject),
  });
  /** When raises of budgets end, epoch seconds: what was leased by them is given back then. */
  const raises = new Map<number, number>();

  const acquireBudget = async (budget: number, more: number, requested: number): Promise<LeaseAnswer> => {
    if (!(await leaseStore.hasBudget(budget)) || !deps.nodeLease.isValid()) return 'away';
    const idle = () => leaseStore.idle('budget', budget);
    const before = idle();
    const need = before + more;
    let got = 0;
    const lacks = () => Math.max(0, need - Math.max(before + got, idle()));
    return budgets.request({
      account: budget,
      token: 0,
      need: more,
      use: requested - more + budgetDemand.expectedOf(budget, 'budget'),
      floor: more + budgetDemand.floorOf(budget, need, 'budget'),
      partial: true,
      missing: () => ({ account: lacks(), token: 0 }),
      reserve: () => deps.nodeLease.isValid() && lacks() === 0,
      received({ granted, max }) {
        got += granted;
        const [small, ample] = [max < smallFor * need, max >= ampleFor * need];
        budgetDemand.onGranted({ kind: 'budget', subject: budget, owner: budget, need, small, ample });
      },
    });
  };

  return {
    async acquire({ userId, tokenId, house: selfUse, more, wish: requested, budget }) {
      if (budget !== undefined) return acquireBudget(budget, more, requested);
      if (!(await leaseStore.has(userId, tokenId)) || !deps.nodeLease.isValid()) return 'away';
      const subjects = [
        ...(selfUse
          ? []
          : [{ kind: 'account' as const, id: userId, before: leaseStore.idle('account', userId), got: 0 }]),
        ...(tokenId === 0
          ? []
          : [{ kind: 'token' as const, id: tokenId, before: leaseStore.idle('token', tokenId), got: 0 }]),
      ];
      // Available is the lesser of both; what was settled meanwhile counts like a grant.
      const need = Math.min(...subjects.map(({ before }) => before)) + more;
      const lacks = (scope: 'account' | 'token'): number => {
        const subject = subjects.find(({ kind }) => kind === scope);
        if (subject === undefined) return 0;
        const { kind, id, before, got } = subject;
        return Math.max(0, need - Math.max(before + got, leaseStore.idle(kind, id)));
      };
      const received = ({ granted, tokenGranted, max, tokenMax }: Grant) => {
        for (const subject of subjects) {
          const isAccount = subject.kind === 'account';
          const left = isAccount ? max : tokenMax;
          subject.got += isAccount ? granted : tokenGranted;
          const { kind, id } = subject;
          demand.onGranted({
            kind,
            subject: id,
            owner: userId,
            need,
            small: left < smallFor * need,
            ample: left >= ampleFor * need,
          });
        }
      };
      return leases.request({
        account: userId,
        token: tokenId,
        need: more,
        use: requested - more + demand.expectedOf(userId),
        floor: more + demand.floorOf(userId, need),
        partial: true,
        missing: () => ({ account: lacks('account'), token: lacks('token') }),
        reserve: () => deps.nodeLease.isValid() && lacks('account') + lacks('token') === 0,
        received,
      });
    },
    receive: (text) =>
      received(text, epoch(), {
        recalled(account, token, by, mark, tokenOnly) {
          if (!tokenOnly) demand.onRejected('account', account);
          if (token > 0) demand.onRejected('token', token);
          leases.recalled(account, token, by, mark, tokenOnly);
        },
        answered: (account, by, mark) => leases.onResponse(account, by, mark),
        budgetRecalled(budget, by, mark) {
          budgetDemand.onRejected('budget', budget);
          budgets.recalled(budget, 0, by, mark);
        },
        budgetAnswered: (budget, by, mark) => budgets.onResponse(budget, by, mark),
      }),
    started(fresh) {
      demand.clear();
      budgetDemand.clear();
      leases.begin(fresh);
      budgets.begin(fresh);
    },
    settled(commands, unspent) {
      leases.settled(unspent);
      demand.settled(commands);
      for (const command of commands) {
        if (command.type !== 'settle') continue;
        const { budgets: parts = [], amount, tokens, tokenId } = command;
        for (let at = 0; at < parts.length; at += 3) {
          const id = parts[at] ?? 0;
          budgetDemand.spent('budget', id, id, amountIn(parts[at + 2] ?? 0, amount, 1, tokens), tokenId);
        }
      }
    },
    recallAll(account) {
      demand.onRejected('account', account);
      return leases.recallAll(account);
    },
    changed({ slots, changed, budgets: updates = [] }) {
      for (const { id, raiseUntil } of updates) {
        if (raiseUntil > 0) raises.set(id, raiseUntil);
        else raises.delete(id);
        budgets.idle('budget', id);
      }
      if (!changed) return;
      for (let at = 0; at < slots.users.length; at += 2) leases.idle('account', slots.users[at] ?? 0);
      for (let at = 0; at < slots.tokens.length; at += 2) leases.idle('token', slots.tokens[at] ?? 0);
    },
    cleanup() {
      for (const [id, until] of raises) {
        if (deps.wall() < until * 1000) continue;
        raises.delete(id);
        budgets.idle('budget', id);
      }
      demand.cleanup();
      budgetDemand.cleanup();
    },
  };
}
