/** Events that commands produce for the relay: it counts settlements itself and has to learn of every other change of a user's balance. */
import { type BalanceEvent, isOrderRefund } from '../../../server/billing/ledger/commands.ts';
import type { Effects } from '../../../server/billing/ledger/core.ts';

/** State of an account after the command. */
export interface AccountAfter {
  /** `accounts.version`. */
  version(userId: number): number;
  /** `accounts.paid_in`. */
  paidIn(userId: number): number;
}

export function eventOf({ posting: main, paired }: Effects, after: AccountAfter): BalanceEvent | null {
  const posting = paired?.kind === 'overrun' ? paired : main;
  if (posting === null || posting.kind === 'settle') return null;
  const repaid = paired?.kind === 'repay' ? paired.amount : 0;
  const gives = posting.credit > 0;
  const userId = gives ? posting.credit : posting.debit;
  if (userId <= 0) return null;
  return {
    kind: 'balance',
    userId,
    delta: gives ? posting.amount - repaid : -posting.amount,
    version: after.version(userId),
    ...(posting.kind === 'overrun' ? { overrun: posting.amount } : repaid > 0 ? { overrun: -repaid } : {}),
    ...(posting.kind === 'topup' || (posting.kind === 'deduct' && isOrderRefund(posting.ref))
      ? { paidIn: after.paidIn(userId) }
      : {}),
    ...(posting.kind === 'refund' && posting.tokenId > 0
      ? { token: { id: posting.tokenId, used: -posting.amount } }
      : {}),
  };
}
