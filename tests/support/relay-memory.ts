/** Money of several relay threads that are all in this one, as they would have it in threads of their own. */

import type { Money } from '../../server/billing/balances/money.ts';
import { allocateRows, createOpenRequests } from '../../server/billing/balances/open-requests.ts';
import { attachMemory, type Memory } from '../../server/billing/balances/shared-memory.ts';
import type { Accounts } from '../../server/billing/balances/slot.ts';

export interface Beside {
  readonly money: Money;
  /** First cells of its rows. */
  readonly rows: readonly number[];
  /** Learns of memory that was given out since. */
  follow(): void;
}

/** @param thread from 1. @param rows of one that is gone. @param around puts something before the memory. */
export function paired(
  main: Money,
  thread: number,
  rows: readonly number[] = [allocateRows(main.memory)],
  around: (memory: Memory) => Memory = (memory) => memory,
): Beside {
  const parts = main.memory.parts();
  const plain = attachMemory(parts, thread);
  let known = parts.chunks.length;
  const memory = around(plain);
  const open = createOpenRequests(memory);
  for (const first of rows) open.add(first);
  const accounts: Accounts = main.accounts;
  return {
    money: { memory, accounts, open, nodeLease: null },
    rows,
    follow() {
      const fresh = main.memory.parts().chunks.slice(known);
      known += fresh.length;
      plain.attachChunks(fresh);
    },
  };
}

/** Cells that are written in place: each store is seen before it is made. */
export const watchedCells = (cells: Float64Array, store: (at: number) => void): Float64Array =>
  new Proxy(cells, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set(target, name, value) {
      store(Number(name));
      return Reflect.set(target, name, value);
    },
  });
