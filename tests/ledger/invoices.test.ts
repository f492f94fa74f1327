/** Invoices: their numbers come with the payment, without a gap, and what is written stays as it was made. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LedgerCommand, orderRefundRef } from '../../server/billing/ledger/commands.ts';
import { type Invoice, quotaRefunded, taxParts } from '../../server/contract/invoice.ts';
import { type LedgerState, openSelectedLedger } from './open-ledger.ts';
import { deduct, grant, invoiceDraft, settle, topUp } from './support.ts';

let state: LedgerState;

beforeEach(async () => {
  state = await openSelectedLedger();
  await state.addUsers(1, 2);
});
afterEach(() => state.close());

interface Row {
  readonly name: string;
  readonly trade_no: string;
  readonly user_id: number;
  readonly document: string;
}
const rows = () =>
  state.rows<Row>('SELECT name, trade_no, user_id, document FROM invoices ORDER BY kind, year, number');
const names = async () => (await rows()).map(({ name, trade_no }) => `${name} ${trade_no}`);
const paid = (tradeNo: string, userId = 1, date = '2026-11-18') => ({
  ...topUp(tradeNo, userId, 700),
  invoice: { ...invoiceDraft(tradeNo, userId, 730), date },
});
const refunded = (tradeNo: string, sum: number, before: number) => ({
  ...deduct(orderRefundRef(tradeNo, sum), 1, quotaRefunded(700, 730, sum) - quotaRefunded(700, 730, before)),
  order: {
    ...{ tradeNo, refunded: sum, before },
    invoice: { ...invoiceDraft(tradeNo, 1, before - sum), kind: 'credit_note', corrects: 'INV-2026-000001' } as const,
  },
});
const orders = async (...tradeNos: readonly string[]) => {
  for (const tradeNo of tradeNos) await state.addOrder(tradeNo, tradeNo.startsWith('b') ? 2 : 1, 700);
};
const said = async (...commands: readonly LedgerCommand[]) =>
  (await state.apply(...commands)).results.map(({ status }) => status);

test('each payment takes the next number of its year, in one batch and over several', async () => {
  await orders('a1', 'b1', 'a2', 'a3', 'a4');
  expect(await said(paid('a1'), grant('g', 2, 5), paid('b1', 2))).toEqual(['done', 'done', 'done']);
  expect(await said(paid('a2', 1, '2027-01-01'), settle('r', 1, 10), paid('a3', 1, '2026-12-31'))).toEqual(
    Array(3).fill('done'),
  );
  expect(await said(topUp('a4', 1, 700))).toEqual(['done']);
  expect(await names()).toEqual([
    'INV-2026-000001 a1',
    'INV-2026-000002 b1',
    'INV-2026-000003 a3',
    'INV-2027-000001 a2',
  ]);
  const [, second] = await rows();
  expect(second?.user_id).toBe(2);
  expect(JSON.parse(second?.document ?? '')).toMatchObject({ number: 'INV-2026-000002', trade_no: 'b1', gross: 730 });
  expect(await state.violations()).toEqual([]);
});

test('a payment that comes again, or is refused, takes no number', async () => {
  await orders('a1', 'a2');
  expect(await said(paid('a1'), paid('a1'))).toEqual(['done', 'duplicate']);
  expect(await said(paid('a1'), { ...paid('a2'), amount: 701 }, paid('gone'))).toEqual([
    'duplicate',
    'refused',
    'refused',
  ]);
  expect(await said(paid('a2'))).toEqual(['done']);
  expect(await names()).toEqual(['INV-2026-000001 a1', 'INV-2026-000002 a2']);
});

test('a refund takes the quota back in proportion and makes a credit note of its own series, once', async () => {
  await orders('a1');
  expect(await said(paid('a1'))).toEqual(['done']);
  expect(await said(refunded('a1', 300, 0), refunded('a1', 300, 0))).toEqual(['done', 'duplicate']);
  expect(await state.balance(1)).toBe(412);
  expect(await said(refunded('a1', 400, 0), refunded('a1', 731, 300), refunded('a1', 730, 300))).toEqual([
    'refused',
    'refused',
    'done',
  ]);
  expect(await state.balance(1)).toBe(0);
  expect(await names()).toEqual(['CN-2026-000001 a1', 'CN-2026-000002 a1', 'INV-2026-000001 a1']);
  expect(await state.rows('SELECT refunded FROM top_ups')).toEqual([{ refunded: 730 }]);
  expect(await state.violations()).toEqual([]);
});

test('two refunds of one order in a batch leave what they are in all', async () => {
  await orders('a1');
  expect(await said(paid('a1'), refunded('a1', 300, 0), refunded('a1', 730, 300))).toEqual(Array(3).fill('done'));
  expect(await state.rows('SELECT refunded FROM top_ups')).toEqual([{ refunded: 730 }]);
  expect(await state.violations()).toEqual([]);
});

test('spent quota cannot be refunded, and takes no invoice number', async () => {
  await orders('a1');
  expect(await said(paid('a1'), settle('r', 1, 500))).toEqual(['done', 'done']);
  expect(await said(refunded('a1', 730, 0))).toEqual(['refused']);
  expect(await names()).toEqual(['INV-2026-000001 a1']);
  expect(await state.rows('SELECT refunded FROM top_ups')).toEqual([{ refunded: 0 }]);
});

test.each([
  ['its text', "UPDATE invoices SET document = replace(document, '730', '731') WHERE number = 2"],
  ['its hash', "UPDATE invoices SET hash = 'x' WHERE number = 1"],
  ['a gap', 'DELETE FROM invoices WHERE number = 2'],
  ['a second one of an order', "UPDATE invoices SET trade_no = 'a1' WHERE number = 3"],
  ['more given back than was paid', "UPDATE top_ups SET refunded = 731 WHERE trade_no = 'a1'"],
  ['given back without a posting', "UPDATE top_ups SET refunded = 1 WHERE trade_no = 'a1'"],
])('the ledger notices that an invoice was changed: %s', async (_what, change) => {
  await orders('a1', 'a2', 'a3');
  await said(paid('a1'), paid('a2'), paid('a3'));
  expect(await state.violations()).toEqual([]);
  await state.rows(change);
  expect((await state.violations()).map(({ id }) => id)).toEqual(['I14']);
});

test('net and tax always add up to what was paid, and parts of a refund to the whole', () => {
  expect(taxParts(11_900, 19)).toEqual({ net: 10_000, tax: 1900 });
  expect(taxParts(730, 19)).toEqual({ net: 613, tax: 117 });
  expect(taxParts(1, 7.7)).toEqual({ net: 1, tax: 0 });
  expect(taxParts(0, 19)).toEqual({ net: 0, tax: 0 });
  expect(taxParts(9_007_199_254_740_991, 25)).toEqual({ net: 7_205_759_403_792_793, tax: 1_801_439_850_948_198 });
  expect([0, 1, 365, 729, 730].map((sum) => quotaRefunded(700, 730, sum))).toEqual([0, 1, 350, 700, 700]);
  expect(quotaRefunded(700, 0, 0)).toBe(700);
});

test('a document says the number that it was given', async () => {
  await orders('a1');
  await said(paid('a1'));
  const [row] = await rows();
  const invoice = JSON.parse(row?.document ?? '') as Invoice;
  expect(invoice).toEqual({ ...invoiceDraft('a1', 1, 730), number: row?.name });
});
