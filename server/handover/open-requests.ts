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
  /** What holders of budgets hold; absent = nothing. */
  readonly holders?: readonly (readonly [key: string, money: number, requests: number, tokens: number])[];
}

/** Who is known. */
interface Known {
  user(id: number): object | undefined;
  token(id: number): { readonly userId: number } | undefined;
}

export function openMoneyOf({ memory, accounts }: Money, known: Known): OpenMoney {
  const { get } = memory;
  const ofUsers: (readonly [id: number, held: number, maxCost: number])[] = [];
  for (const [id, place] of accounts.users) {
    const [held, max] = [get(place + UserSlot.held), get(place + UserSlot.maxCost)];
    if (held + max > 0 && known.user(id) !== undefined) ofUsers.push([id, held, max]);
  }
  const ofTokens: OpenMoney['tokens'][number][] = [];
  for (const [id, place] of accounts.tokens) {
    const amounts = [
      get(place + KeySlot.held),
      get(place + KeySlot.maxCost),
      get(place + KeySlot.budgetHeld),
      get(place + KeySlot.running),
    ] as const;
    const token = amounts.some((amount) => amount > 0) ? known.token(id) : undefined;
    if (token !== undefined) ofTokens.push([id, token.userId, ...amounts]);
  }
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
    users: ofUsers,
    tokens: ofTokens,
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
