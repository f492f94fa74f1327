/** Facts about invoices that `gateway ledger verify` asks for, on either engine. */

/** Selects invoices in the order in which each hash follows from the one before. */
export const invoiceRows = 'SELECT kind, year, number, name, document, hash FROM invoices ORDER BY kind, year, number';

export const wrongOrders = `SELECT 'order ' || trade_no || ': ' || count(*) || ' invoices' AS words FROM invoices
    WHERE kind = 'invoice' GROUP BY trade_no HAVING count(*) > 1
  UNION ALL SELECT 'order ' || trade_no || ': given back ' || refunded || ' of ' || money FROM top_ups
    WHERE refunded > money OR refunded < 0
      OR refunded > 0 AND NOT EXISTS (SELECT 1 FROM postings WHERE ref = 'orderrefund:' || trade_no || ':' || refunded)`;
