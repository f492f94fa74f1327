/** Leases where nothing is relayed: numbers of this thread's own. */
import type { LeaseKind } from '../billing/ports.ts';
import type { NodeLeaseStore } from './lease-store-shared.ts';

export function createLocalLeaseStore(): NodeLeaseStore {
  const amounts = new Map<string, number>();
  const keyOf = (kind: LeaseKind, subject: number) => `${kind} ${subject}`;
  const idle = (kind: LeaseKind, subject: number) => amounts.get(keyOf(kind, subject)) ?? 0;
  return {
    raise: (kind, subject, amount) => void amounts.set(keyOf(kind, subject), idle(kind, subject) + amount),
    takeIdle(kind, subject) {
      const amount = idle(kind, subject);
      amounts.delete(keyOf(kind, subject));
      return amount;
    },
    idle,
    drop: () => amounts.clear(),
    update: () => undefined,
    has: async () => true,
    hasBudget: async () => true,
  };
}
