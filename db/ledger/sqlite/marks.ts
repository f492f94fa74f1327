/** Rows beside the postings that are written with them: a used code, a paid order and its invoice, what invitations earned. */
import type { Database as RawDatabase } from 'better-sqlite3';
import type { Mark } from '../../../server/billing/ledger/core.ts';
import type { InvoiceEntry } from '../../../server/billing/ledger/invoices.ts';
import { insertColumns, namesOf } from '../../schema/inserts.ts';

const invoiceColumns = insertColumns('invoices');

export function createLedgerMarks(raw: RawDatabase): (mark: Mark) => void {
  const useCode = raw.prepare(
    'UPDATE redemptions SET status = 3, redeemed_at = ?, used_user_id = ? WHERE id = ? AND status = 1',
  );
  const payOrder = raw.prepare("UPDATE top_ups SET status = 'success', paid_at = ? WHERE trade_no = ?");
  const refundOrder = raw.prepare('UPDATE top_ups SET refunded = ? WHERE trade_no = ?');
  const addInvoice = raw.prepare(
    `INSERT INTO invoices (${namesOf(invoiceColumns)}) VALUES (${invoiceColumns.map(() => '?').join(', ')})`,
  );
  const keep = (invoice: InvoiceEntry | null): void => {
    if (invoice !== null) addInvoice.run(...invoiceColumns.map(({ value }) => value(invoice)));
  };
  const closeCallback = raw.prepare("UPDATE callbacks SET outcome = 'credited' WHERE id = ?");
  const countInvitations = raw.prepare(
    `UPDATE users SET aff_quota = aff_quota + $earned - $moved, aff_history_quota = aff_history_quota + $earned,
      aff_count = (SELECT count(*) FROM users AS invited WHERE invited.inviter_id = users.id)
     WHERE id = $userId`,
  );
  return (mark) => {
    switch (mark.kind) {
      case 'code':
        useCode.run(mark.at, mark.userId, mark.id);
        return;
      case 'order':
        payOrder.run(mark.at, mark.tradeNo);
        if (mark.callbackId > 0) closeCallback.run(mark.callbackId);
        keep(mark.invoice);
        return;
      case 'order_refund':
        refundOrder.run(mark.refunded, mark.tradeNo);
        keep(mark.invoice);
        return;
      case 'affiliate':
        countInvitations.run({ userId: mark.userId, earned: mark.earned, moved: mark.moved });
        return;
    }
  };
}
