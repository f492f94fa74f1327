/** Reservations of the old process's open requests, held a second time by the new process, so that the money cannot be spent twice before they end. */

import { HolderSlot } from '../billing/balances/budgets.ts';
import { isBlockKey } from '../billing/balances/end-users.ts';
import type { Money } from '../billing/balances/money.ts';
import { groupStripe, holderStripe, userStripe } from '../billing/balances/shared-memory.ts';
import { KeySlot, RateSlot, UserSlot } from '../billing/balances/slot.ts';

export interface OpenMoney {
  readonly users: readonly (readonly [id: number, held: number, maxCost: number])[];
  readonly tokens: readonly (readonly [
    id: number,
    userId: number,
    held: number,
    maxCost: number,
    budget: number,
    running: number,
  ])[];
  readonly groups: readonly (readonly [name: string, running: number])[];
  /** Of budgets; absent = they hold nothing. */
  readonly holders?: readonly (readonly [key: string, money: number, requests: number, tokens: number])[];
}

interface Named {
  readonly users: Iterable<{ readonly id: number }>;
  readonly tokens: Iterable<{ readonly id: number; readonly userId: number }>;
}

export function openMoneyOf({ memory, accounts }: Money, { users, tokens }: Named): OpenMoney {
  const { get } = memory;
  const ofUsers = [...users].map(({ id }): OpenMoney['users'][number] => {
    const userSlot = accounts.user(id);
    return userSlot === 0 ? [id, 0, 0] : [id, get(userSlot + UserSlot.held), get(userSlot + UserSlot.maxCost)];
  });
  const ofTokens = [...tokens].map(({ id, userId }): OpenMoney['tokens'][number] => {
    const cap = accounts.token(id);
    if (cap === 0) return [id, userId, 0, 0, 0, 0];
    const [held = 0, max = 0, budget = 0, running = 0] = [
      KeySlot.held,
      KeySlot.maxCost,
      KeySlot.budgetHeld,
      KeySlot.running,
    ].map((cell) => get(cap + cell));
    return [id, userId, held, max, budget, running];
  });
  const { groups, holders = [] } = accounts.slotIndexes([], []);
  // Windows of end users begin again with the new process.
  const ofHolders = holders
    .filter(([key]) => !isBlockKey(key))
    .map(([key, place]): NonNullable<OpenMoney['holders']>[number] => {
      const held = place + HolderSlot.held;
      return [key, get(held), get(held + 1), get(held + 2)];
    })
    .filter(([, ...amounts]) => amounts.some((amount) => amount > 0));
  const ofGroups = groups.map(([name, place]) => [name, get(place + RateSlot.running)] as const);
  return {
    users: ofUsers.filter(([, held, max]) => held + max > 0),
    tokens: ofTokens.filter(([, , ...amounts]) => amounts.some((amount) => amount > 0)),
    groups: ofGroups.filter(([, running]) => running > 0),
    ...(ofHolders.length === 0 ? {} : { holders: ofHolders }),
  };
}

const timeoutMs = 20;

export interface RemoteReservations {
  /** So much is open there now, and no more. */
  set(open: OpenMoney): void;
  /** Another thread may have died holding the lock, and this thread recovers dead ones: it tries again later. */
  underLock(stripe: number, step: () => void): void;
}

export function createRemoteReservations({ memory, accounts }: Money): RemoteReservations {
  const { get, put } = memory;
  /** What is in each cell because of the other server. */
  const taken = new Map<number, number>();
  /** Whose lock each of them is under. */
  const stripes = new Map<number, number>();
  const underLock = (stripe: number, step: () => void): void => {
    if (!memory.tryLock(stripe, timeoutMs)) return void setTimeout(underLock, timeoutMs, stripe, step);
    step();
    memory.release(stripe);
  };
  const reserve = (cell: number, amount: number) => {
    put(cell, get(cell) + amount - (taken.get(cell) ?? 0));
    if (amount === 0) taken.delete(cell);
    else taken.set(cell, amount);
  };
  return {
    underLock,
    set({ users, tokens, groups, holders = [] }) {
      const amountByCell = new Map<number, () => number>();
      const want = (stripe: number, place: number, amounts: readonly (readonly [number, () => number])[]) => {
        if (place === 0) return;
        for (const [cell, amount] of amounts) {
          stripes.set(place + cell, stripe);
          amountByCell.set(place + cell, amount);
        }
      };
      for (const [id, held, max] of users) {
        const userSlot = accounts.user(id);
        // They may go on to hold all that they may cost, as far as there is so much.
        const reserved = () => Math.min(max, Math.max(held, get(userSlot + UserSlot.balance)));
        want(userStripe(userSlot), userSlot, [
          [UserSlot.held, reserved],
          [UserSlot.maxCost, () => max],
        ]);
      }
      for (const [id, userId, held, max, budget, running] of tokens) {
        const reserved = Math.max(held, max);
        want(userStripe(accounts.user(userId)), accounts.token(id), [
          [KeySlot.held, () => reserved],
          [KeySlot.maxCost, () => max],
          [KeySlot.budgetHeld, () => budget],
          [KeySlot.running, () => running],
        ]);
      }
      for (const [name, running] of groups) {
        const place = accounts.group(name);
        want(groupStripe(place), place, [[RateSlot.running, () => running]]);
      }
      for (const [key, ...amounts] of holders) {
        const place = accounts.holder(key);
        want(
          holderStripe(place),
          place,
          amounts.map((amount, unit) => [HolderSlot.held + unit, () => amount] as const),
        );
      }
      for (const cell of new Set([...taken.keys(), ...amountByCell.keys()]))
        underLock(stripes.get(cell) ?? 0, () => reserve(cell, amountByCell.get(cell)?.() ?? 0));
    },
  };
}
