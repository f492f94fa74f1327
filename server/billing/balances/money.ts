/** Money in reach of one relay thread: the memory that all of them share, where everybody's cells are, and what this thread has open. */

import type { Tenure } from '../leases/node-lease.ts';
import { createOpenRequests, type OpenRequests } from './open-requests.ts';
import { createMemory, type Memory } from './shared-memory.ts';
import { type Accounts, createAccounts } from './slots.ts';

export interface Money {
  readonly memory: Memory;
  readonly accounts: Accounts;
  readonly open: OpenRequests;
  /** Where several machines serve one site: whether what lies here may be spent; null = it is all there is. */
  readonly tenure: Tenure | null;
}

export const createMoney = (
  memory: Memory = createMemory(),
  open = createOpenRequests(memory),
  tenure: Tenure | null = null,
): Money => ({
  memory,
  accounts: createAccounts(memory, tenure !== null),
  open,
  tenure,
});
