/** Events that commands produce for the relay: it counts settlements itself and has to learn of every other change of a user's balance. */
import type { BalanceEvent } from '../../../server/billing/ledger/commands.ts';
import type { Effects } from '../../../server/billing/ledger/core.ts';

/** @param versionOf `accounts.version` after the command. */
export function eventOf(
  { posting: main, paired }: Effects,
  versionOf: (userId: number) => number,
): BalanceEvent | null {
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
    version: versionOf(userId),
    ...(posting.kind === 'overrun' ? { overrun: posting.amount } : repaid > 0 ? { overrun: -repaid } : {}),
    ...(posting.kind === 'refund' && posting.tokenId > 0
      ? { token: { id: posting.tokenId, used: -posting.amount } }
      : {}),
  };
}
