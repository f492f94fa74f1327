/** Money in reach of one relay thread: the memory that all of them share, where everybody's cells are, and what this thread has open. */
import { type Accounts, createAccounts } from './accounts.ts';
import { createMemory, type Memory } from './memory.ts';
import { createOpenRequests, type OpenRequests } from './open-requests.ts';

export interface Money {
  readonly memory: Memory;
  readonly accounts: Accounts;
  readonly open: OpenRequests;
}

/** @param leased as `createAccounts` takes it. */
export const createMoney = (
  memory: Memory = createMemory(),
  open = createOpenRequests(memory),
  leased = false,
): Money => ({
  memory,
  accounts: createAccounts(memory, leased),
  open,
});
