/** The money in reach of this process: all there is, or what one node of several has leased. */
import type { DatabasePlace } from '../../db/place.ts';
import { Balances, createMoney, type Money } from '../billing/balances/money.ts';
import { unreported } from '../billing/balances/open-requests.ts';
import { createMemory } from '../billing/balances/shared-memory.ts';
import { createNodeLease } from '../billing/leases/node-lease.ts';
import type { BudgetSnapshot } from '../contract/budgets.ts';
import type { SnapshotPart } from '../contract/packed-rows.ts';
import type { Snapshot, SnapshotDelta } from '../contract/snapshot.ts';
import type { LedgerThread } from '../threads/ledger/thread.ts';
import { clockReading, createMonoClock } from '../threads/relay/clock.ts';
import { maxRelayThreads } from '../threads/relay/environment.ts';
import type { BudgetUpdate, SharedMemory } from './lease-store-shared.ts';

export interface BalanceStore {
  readonly balances: Balances;
  /** For the ledger's thread, which fills it; null = balances follow the ledger. */
  readonly shared: SharedMemory | null;
  /** Undoes what the dead thread had begun. */
  readonly recoverThread: () => void;
}

export function createBalanceStore({ engine }: DatabasePlace, relayThreads: number): BalanceStore {
  const threads = relayThreads === 1 ? 0 : maxRelayThreads;
  const open = relayThreads === 1 ? unreported : undefined;
  if (engine === 'sqlite')
    return {
      balances: new Balances(createMoney(createMemory(threads), open)),
      shared: null,
      recoverThread: () => undefined,
    };
  const thread = threads + 1;
  const memory = createMemory(thread);
  const nodeLease = createNodeLease(memory, { monoNow: createMonoClock(), wall: Date.now });
  return {
    balances: new Balances(createMoney(memory, open, nodeLease)),
    shared: { parts: memory.parts(), thread, clock: clockReading() },
    recoverThread: () => memory.recoverThread(thread),
  };
}

/** Announces users, keys and budgets to the ledger's thread before any relay learns of them. */
export function slotsFor(
  { slots }: Pick<LedgerThread, 'slots'>,
  { memory, accounts, nodeLease }: Money,
): (update: Snapshot | SnapshotDelta, part: () => SnapshotPart) => void {
  if (nodeLease === null) return () => undefined;
  let known = 1;
  return ({ kind, users, tokens, budgets = [] }, part) => {
    const all = kind === 'snapshot' ? part() : null;
    const owners =
      all === null
        ? tokens.flatMap(({ id, userId }) => [id, userId])
        : all.tokens.flatMap((page) => [...page.ids].flatMap((id, row) => [id, page.owners[row] ?? 0]));
    const chunks = memory.parts().chunks.slice(known);
    known += chunks.length;
    slots({
      kind: 'places',
      changed: kind === 'delta',
      slots: accounts.slotIndexes(
        all === null ? users.map(({ id }) => id) : accounts.users.keys(),
        all === null ? tokens.map(({ id }) => id) : accounts.tokens.keys(),
      ),
      ...(budgets.length === 0 ? {} : { budgets: budgetUpdates(budgets, accounts) }),
      owners,
      chunks,
    });
  };
}

function budgetUpdates(budgets: readonly BudgetSnapshot[], accounts: Money['accounts']): readonly BudgetUpdate[] {
  const raises = new Map(budgets.map(({ id, raise, raiseUntil }) => [id, raise > 0 ? raiseUntil : 0]));
  return accounts.budgetIndexes(raises.keys()).map((place) => ({ ...place, raiseUntil: raises.get(place.id) ?? 0 }));
}
