/** Answers the questions of the ledger's rules from the tables and from what the running batch has already decided. */
import type { Database as RawDatabase } from 'better-sqlite3';
import type { LedgerState, PaidOrder, Posting } from '../../../server/billing/ledger/core.ts';
import { type LastInvoice, noInvoice } from '../../../server/billing/ledger/invoices.ts';
import type { LedgerTotals } from './sum.ts';

interface PostingRow extends Omit<Posting, 'tokenId' | 'channelId'> {
  readonly token_id: number;
  readonly channel_id: number;
}

export interface LedgerReads {
  /** @param pending sums of the batch that are not in the tables yet. @param flush brings its postings there. */
  state(pending: Pick<LedgerTotals, 'balance' | 'overrun'>, flush: () => void): LedgerState;
  posting(ref: string): Posting | undefined;
  version(account: number): number;
  paidIn(account: number): number;
}

export function createLedgerReads(raw: RawDatabase): LedgerReads {
  const readAccount = raw.prepare<{ balance: number; version: number; overrun: number; paid_in: number }>(
    'SELECT balance, version, overrun, paid_in FROM accounts WHERE id = ?',
  );
  const readPosting = raw.prepare<PostingRow>(
    'SELECT ref, debit, credit, amount, kind, token_id, channel_id, at FROM postings WHERE ref = ?',
  );
  const readCode = raw.prepare<{ status: number; quota: number }>(
    'SELECT status, quota FROM redemptions WHERE id = ? AND deleted_at IS NULL',
  );
  const readOrder = raw.prepare<PaidOrder>(
    'SELECT status, user_id AS userId, quota, money, refunded FROM top_ups WHERE trade_no = ?',
  );
  const readInvoice = raw.prepare<LastInvoice>(
    'SELECT number, hash FROM invoices WHERE kind = ? AND year = ? ORDER BY number DESC LIMIT 1',
  );

  const posting = (ref: string): Posting | undefined => {
    const row = readPosting.get(ref);
    if (row === undefined) return undefined;
    const { token_id: tokenId, channel_id: channelId, ...rest } = row;
    return { ...rest, tokenId, channelId };
  };

  return {
    posting,
    version: (account) => readAccount.get(account)?.version ?? 0,
    paidIn: (account) => readAccount.get(account)?.paid_in ?? 0,
    state(pending, flush) {
      // Each row is read once per batch: what the batch adds is in the pending sums.
      const known = new Map<number, { balance: number; overrun: number } | null>();
      const accountOf = (id: number) => {
        let found = known.get(id);
        if (found === undefined) {
          found = readAccount.get(id) ?? null;
          known.set(id, found);
        }
        return found;
      };
      return {
        balanceOf: (account) => (accountOf(account)?.balance ?? 0) + pending.balance(account),
        hasAccount: (userId) => accountOf(userId) !== null,
        overrunOf: (userId) => (accountOf(userId)?.overrun ?? 0) + pending.overrun(userId),
        posting(ref) {
          flush();
          return posting(ref);
        },
        code: (id) => readCode.get(id),
        order: (tradeNo) => readOrder.get(tradeNo),
        lastInvoice: (kind, year) => readInvoice.get(kind, year) ?? noInvoice,
      };
    },
  };
}
