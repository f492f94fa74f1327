/** Money in reach of one relay thread: the memory that all of them share, whose slots are where, what this thread has open, and the accounts in it. */

import type { BudgetSnapshot } from '../../contract/budgets.ts';
import { systemTimers, type Timers } from '../../contract/timers.ts';
import type { NodeLease } from '../leases/node-lease.ts';
import { Account, Calendar, type SharedMoney } from './account.ts';
import { BudgetBook } from './budgets.ts';
import { createOpenRequests, type OpenRequests } from './open-requests.ts';
import { createMemory, type Memory } from './shared-memory.ts';
import { type Accounts, createAccounts } from './slot.ts';

export interface Money extends SharedMoney {
  readonly open: OpenRequests;
}

export const createMoney = (
  memory: Memory = createMemory(),
  open = createOpenRequests(memory),
  nodeLease: NodeLease | null = null,
  timers: Pick<Timers, 'set'> = systemTimers,
): Money => ({
  memory,
  accounts: createAccounts(memory, nodeLease !== null, timers),
  open,
  nodeLease,
});

export class Balances {
  readonly budgets: BudgetBook;
  private readonly calendar: Calendar;
  /** By key, and by user where no key is involved. A slot is never reused, so an account stays valid. */
  private readonly ofTokens = new Map<number, Account>();
  private readonly ofUsers = new Map<number, Account>();

  /** @param now epoch milliseconds: budgets follow the calendar. */
  constructor(
    readonly money: Money = createMoney(),
    now: () => number = systemTimers.now,
  ) {
    this.calendar = new Calendar(now);
    const { memory, accounts, nodeLease } = money;
    this.budgets = new BudgetBook(memory, accounts.holder, () => now() / 1000, nodeLease !== null);
  }

  /** What the state of the relay is to tell of its rows: in the main thread, which gives places out, and in one that has none to give. */
  get watcher(): Accounts {
    const { accounts } = this.money;
    return {
      ...accounts,
      observeBudgets: (budgets: readonly BudgetSnapshot[]) => {
        accounts.observeBudgets(budgets);
        this.budgets.set(budgets);
      },
    };
  }

  /** @param tokenId 0 = no key is involved. */
  account(userId: number, tokenId: number): Account {
    const known = tokenId === 0 ? this.ofUsers.get(userId) : this.ofTokens.get(tokenId);
    if (known !== undefined && known.userId === userId) return known;
    const account = new Account(this.money, this.calendar, userId, tokenId);
    // A user or key that is not known yet gets its slot later.
    if (account.user === 0 || (tokenId !== 0 && account.token === 0)) return account;
    if (tokenId === 0) this.ofUsers.set(userId, account);
    else this.ofTokens.set(tokenId, account);
    return account;
  }
}
