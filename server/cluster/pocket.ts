/** What is leased where nothing is relayed: it lies in a pocket until it is given back. */
import type { LeaseKind } from '../billing/ports.ts';
import type { MemoryReach } from './reach.ts';

export function createPocket(): MemoryReach {
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
    learn: () => undefined,
    knows: async () => true,
  };
}
