/** Numbers of invoices, where several nodes take payments at once. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { invoiceDraft, topUp } from '../ledger/support.ts';
import { openSite, type Site } from './site.ts';

let site: Site;

beforeEach(async () => {
  site = await openSite();
  await site.addUsers(1, 2, 3);
});
afterEach(async () => {
  expect(await site.violations()).toEqual([]);
  await site.drop();
});

test('three nodes that take payments at once number the invoices without a gap', async () => {
  const nodes = [site.node(), site.node(), site.node()];
  const trades = Array.from({ length: 45 }, (_, at) => [`t${at}`, 1 + (at % 3)] as const);
  for (const [trade, user] of trades) await site.addOrder(trade, user, 700);
  const results = await Promise.all(
    trades.map(async ([trade, user], at) => {
      // Each node takes some payments of each user; every fifth is reported to two of them.
      const command = { ...topUp(trade, user, 700), invoice: invoiceDraft(trade, user, 730) };
      const both = at % 5 === 0 ? [at, at + 1] : [at];
      return Promise.all(both.map(async (node) => (await nodes[node % 3]?.store.apply([command]))?.results[0]?.status));
    }),
  );
  expect(results.map((both) => both.filter((status) => status === 'done').length)).toEqual(trades.map(() => 1));
  const rows = await site.rows<{ number: number; trade_no: string }>(
    'SELECT number, trade_no FROM invoices ORDER BY number',
  );
  expect(rows.map(({ number }) => Number(number))).toEqual(trades.map((_, at) => at + 1));
  expect(new Set(rows.map(({ trade_no }) => trade_no)).size).toBe(trades.length);
});
