/** Invoices over the API: made with a payment, read by whom they concern, corrected by a refund. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Invoice, InvoiceRow } from '../../server/contract/invoice.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let alice: { id: number; headers: Headers };
let bob: { id: number; headers: Headers };

beforeAll(async () => {
  api = await createApiFixture();
  root = await api.login('tester', 'password1');
  alice = await api.addUser('alice', 1);
  bob = await api.addUser('bob', 1);
});
afterAll(async () => {
  expect(await api.gateway.verify()).toEqual([]);
  await api.close();
});
beforeEach(async () => {
  for (const [name, value] of [
    ['invoice.seller_name', 'Acme Ltd.'],
    ['invoice.seller_details', '1 High Street\nLondon'],
    ['invoice.seller_tax_id', 'GB1'],
    ['invoice.tax_rate', '19'],
    ['invoice.note', ''],
    ['invoice.credit_note', ''],
    ['invoice.time_zone', ''],
  ] as const)
    await api.gateway.option(name, value);
});

let count = 0;
/** An order of 73.00 that is credited by hand. @returns its number. */
async function pay(userId: number): Promise<string> {
  const trade = `T${++count}`;
  await api.gateway.rows(
    "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, ?, 'stripe', 10, 5000000, 7300, 'usd', 1)",
    userId,
    trade,
  );
  expect((await send('POST', '/api/user/topup/complete', { trade_no: trade })).success).toBe(true);
  return trade;
}
const send = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown, headers = root) =>
  (await api.send(method, path, body, headers)).body as { success: boolean; code?: string; data: unknown };
const invoiceOf = async (trade: string, headers = root) => {
  const { items } = (await send('GET', `/api/invoice/?keyword=${trade}`)).data as { items: InvoiceRow[] };
  return (await send('GET', `/api/invoice/${items.at(-1)?.number}`, undefined, headers)).data as Invoice;
};

test('a payment makes an invoice that says seller, buyer, tax and what was paid', async () => {
  const saved = await send(
    'PUT',
    '/api/invoice/buyer',
    { name: ' Alice GmbH ', address: 'Weg 1\n\n10115 Berlin ', tax_id: 'DE1' },
    alice.headers,
  );
  expect(saved.data).toEqual({ name: 'Alice GmbH', address: 'Weg 1\n10115 Berlin', tax_id: 'DE1' });
  const trade = await pay(alice.id);
  expect(await invoiceOf(trade)).toMatchObject({
    kind: 'invoice',
    corrects: '',
    trade_no: trade,
    method: 'stripe',
    seller: { name: 'Acme Ltd.', address: '1 High Street\nLondon', tax_id: 'GB1' },
    buyer: { name: 'Alice GmbH', address: 'Weg 1\n10115 Berlin', tax_id: 'DE1', user_id: alice.id, username: 'alice' },
    ...{ currency: 'usd', minor: 100, gross: 7300, net: 6134, tax: 1166, tax_name: 'VAT', tax_rate: '19' },
    ...{ quota: 5_000_000, note: '' },
  });
});

test('a later change leaves an invoice as it was made', async () => {
  const trade = await pay(alice.id);
  const before = await invoiceOf(trade);
  await api.gateway.option('invoice.seller_name', 'Other Ltd.');
  await api.gateway.option('invoice.tax_rate', '7');
  await send('PUT', '/api/invoice/buyer', { name: 'Somebody' }, alice.headers);
  expect(await invoiceOf(trade)).toEqual(before);
  await send('PUT', '/api/invoice/buyer', { name: 'Alice GmbH' }, alice.headers);
  expect(await invoiceOf(await pay(alice.id))).toMatchObject({ seller: { name: 'Other Ltd.' }, tax_rate: '7' });
});

test('without a rate no tax is named, and without a seller there is no invoice', async () => {
  await api.gateway.option('invoice.tax_rate', '0');
  await api.gateway.option('invoice.note', 'Exempt.');
  expect(await invoiceOf(await pay(bob.id))).toMatchObject({
    ...{ gross: 7300, net: 7300, tax: 0, tax_name: '', tax_rate: '', note: 'Exempt.' },
    buyer: { name: '', username: 'bob' },
  });
  await api.gateway.option('invoice.seller_name', ' ');
  const trade = await pay(bob.id);
  expect((await send('GET', `/api/invoice/?keyword=${trade}`)).data).toMatchObject({ total: 0 });
  expect((await send('GET', `/api/user/topup?p=1&keyword=${trade}`)).data).toMatchObject({ items: [{ invoice: '' }] });
  expect((await send('POST', '/api/user/topup/refund', { trade_no: trade })).data).toMatchObject({ refunded: '73.00' });
  expect((await send('GET', `/api/invoice/?keyword=${trade}`)).data).toMatchObject({ total: 0 });
});

test('date and year are those of the zone of the site', async () => {
  for (const [zone, shift] of [
    ['Pacific/Kiritimati', 14],
    ['Pacific/Niue', -11],
  ] as const) {
    await api.gateway.option('invoice.time_zone', zone);
    const { date, issued_at } = await invoiceOf(await pay(bob.id));
    expect(date).toBe(new Date((issued_at + shift * 3600) * 1000).toISOString().slice(0, 10));
  }
});

test('a refund makes a credit note, its parts add up to the invoice, and takes quota back', async () => {
  const trade = await pay(alice.id);
  const invoice = await invoiceOf(trade);
  const before = (await api.gateway.services.users.find(alice.id))?.balance ?? 0;
  const refund = (money?: string) => send('POST', '/api/user/topup/refund', { trade_no: trade, money });
  for (const money of ['', ' ', '0', '-1', '73.01', '1.001', 'x'])
    expect((await refund(money)).code).toBe('topup_refund_amount');
  expect((await refund('23.00')).data).toMatchObject({ refunded: '23.00', status: 'success', invoice: invoice.number });
  expect((await refund()).data).toMatchObject({ refunded: '73.00' });
  expect((await refund()).code).toBe('topup_unpaid');
  expect(((await api.gateway.services.users.find(alice.id))?.balance ?? 0) - before).toBe(-5_000_000);
  const { items } = (await send('GET', `/api/invoice/?keyword=${trade}&kind=credit_note`)).data as {
    items: InvoiceRow[];
  };
  expect(items.map(({ money, corrects }) => [money, corrects])).toEqual([
    ['-50.00', invoice.number],
    ['-23.00', invoice.number],
  ]);
  const notes: Invoice[] = [];
  for (const { number } of items) notes.push((await send('GET', `/api/invoice/${number}`)).data as Invoice);
  const sum = (part: 'gross' | 'net' | 'tax' | 'quota') => notes.reduce((all, note) => all + note[part], 0);
  for (const part of ['gross', 'net', 'tax', 'quota'] as const) expect(sum(part)).toBe(-invoice[part]);
  expect(notes[0]).toMatchObject({ kind: 'credit_note', seller: invoice.seller, buyer: invoice.buyer, tax_rate: '19' });
});

test('a credit note has a note of its own, never that of the invoice', async () => {
  await api.gateway.option('invoice.note', 'Thank you. Nothing is due.');
  const trade = await pay(alice.id);
  const noteOf = async (money: string): Promise<string> => {
    await send('POST', '/api/user/topup/refund', { trade_no: trade, money });
    const { items } = (await send('GET', `/api/invoice/?keyword=${trade}&kind=credit_note`)).data as {
      items: InvoiceRow[];
    };
    return ((await send('GET', `/api/invoice/${items[0]?.number}`)).data as Invoice).note;
  };
  expect((await invoiceOf(trade)).note).toBe('Thank you. Nothing is due.');
  expect(await noteOf('3.00')).toBe('');
  await api.gateway.option('invoice.credit_note', ' Returned the way it was paid. ');
  expect(await noteOf('4.00')).toBe('Returned the way it was paid.');
});

test('a refund that says what was given back before counts once, however often it is sent', async () => {
  const trade = await pay(alice.id);
  const before = (await api.gateway.services.users.find(alice.id))?.balance ?? 0;
  const refund = (money: string | undefined, refunded: string | undefined) =>
    send('POST', '/api/user/topup/refund', { trade_no: trade, money, refunded });
  for (const _ of [1, 2]) expect((await refund('3.00', '0.00')).data).toMatchObject({ refunded: '3.00' });
  // Less than, or other than, what was given back; more than it; and no amount of money.
  for (const [money, refunded] of [
    ['2.00', '0'],
    ['1.00', '2.00'],
    ['3.00', '3.01'],
    ...['', ' ', '-1', 'x', '1.001'].map((one) => ['3.00', one] as const),
  ] as const)
    expect(await refund(money, refunded)).toMatchObject({ code: 'topup_refund_changed', message: /3\.00/ });
  expect((await refund('3.00', '3.00')).data).toMatchObject({ refunded: '6.00' });
  expect((await refund('3.00', '0.00')).data).toMatchObject({ refunded: '6.00' });
  expect((await refund('6.00', '0.00')).code).toBe('topup_refund_changed');
  for (const _ of [1, 2]) expect((await refund(undefined, '6.00')).data).toMatchObject({ refunded: '73.00' });
  expect((await refund('68.00', '6.00')).code).toBe('topup_refund_amount');
  expect((await refund(undefined, '73.00')).code).toBe('topup_unpaid');
  expect(((await api.gateway.services.users.find(alice.id))?.balance ?? 0) - before).toBe(-5_000_000);
  expect((await send('GET', `/api/invoice/?keyword=${trade}&kind=credit_note`)).data).toMatchObject({ total: 3 });
});

test('of two refunds at once that do not say what was given back before, one is refused', async () => {
  const trade = await pay(alice.id);
  const refund = () => send('POST', '/api/user/topup/refund', { trade_no: trade, money: '3.00' });
  const both = await Promise.all([refund(), refund()]);
  const refunded = both.filter(({ success }) => success).length;
  expect(both.map(({ code = '' }) => code).sort()).toEqual(refunded === 2 ? ['', ''] : ['', 'topup_refund_changed']);
  expect((await send('GET', `/api/user/topup?p=1&keyword=${trade}`)).data).toMatchObject({
    items: [{ refunded: refunded === 2 ? '6.00' : '3.00' }],
  });
});

test('a refund with which no quota goes is refused for that', async () => {
  await api.gateway.rows(
    "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, 'few', 'stripe', 1, 5, 7, 'usd', 1)",
    bob.id,
  );
  expect((await send('POST', '/api/user/topup/complete', { trade_no: 'few' })).success).toBe(true);
  const refund = (money?: string) => send('POST', '/api/user/topup/refund', { trade_no: 'few', money });
  expect((await refund('0.03')).data).toMatchObject({ refunded: '0.03' });
  expect((await refund('0.01')).code).toBe('topup_refund_small');
  expect((await refund()).data).toMatchObject({ refunded: '0.07' });
});

test('a refund of what is not paid, not there, or spent is refused', async () => {
  await api.gateway.rows(
    "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, 'open', 'stripe', 1, 5, 7, 'usd', 1)",
    bob.id,
  );
  expect((await send('POST', '/api/user/topup/refund', { trade_no: 'open' })).code).toBe('topup_unpaid');
  expect((await send('POST', '/api/user/topup/refund', { trade_no: 'none' })).code).toBe('not_found');
  const trade = await pay(bob.id);
  expect((await send('PUT', '/api/user/', { id: bob.id, username: 'bob', quota: 4_999_999 })).success).toBe(true);
  expect((await send('POST', '/api/user/topup/refund', { trade_no: trade })).code).toBe('user_insufficient');
  expect((await send('GET', `/api/user/topup?p=1&keyword=${trade}`)).data).toMatchObject({
    items: [{ refunded: '0.00' }],
  });
});

test('a user sees his own invoices and nobody else’s', async () => {
  const [own, others] = [await invoiceOf(await pay(alice.id)), await invoiceOf(await pay(bob.id))];
  const { items } = (await send('GET', '/api/invoice/self?page_size=100', undefined, alice.headers)).data as {
    items: InvoiceRow[];
  };
  expect(items.some(({ number }) => number === own.number)).toBe(true);
  expect(items.every(({ user_id }) => user_id === alice.id)).toBe(true);
  expect((await send('GET', `/api/invoice/${own.number}`, undefined, alice.headers)).data).toEqual(own);
  expect((await send('GET', `/api/invoice/${others.number}`, undefined, alice.headers)).code).toBe('not_found');
  expect((await send('GET', '/api/invoice/INV-1999-000001', undefined, alice.headers)).code).toBe('not_found');
  expect((await send('GET', '/api/invoice/', undefined, alice.headers)).success).toBe(false);
  expect((await send('GET', `/api/invoice/buyer?user=${bob.id}`, undefined, alice.headers)).code).toBe('role_too_low');
  expect((await send('PUT', '/api/invoice/buyer', { user: bob.id, name: 'x' }, alice.headers)).code).toBe(
    'role_too_low',
  );
  expect((await send('POST', '/api/user/topup/refund', { trade_no: own.trade_no }, alice.headers)).success).toBe(false);
});

test('a buyer’s lines are bounded', async () => {
  for (const change of [{ name: 'x'.repeat(201) }, { tax_id: 'x'.repeat(201) }, { address: 'x'.repeat(601) }])
    expect((await send('PUT', '/api/invoice/buyer', change, bob.headers)).code).toBe('params_invalid');
  expect((await send('GET', '/api/invoice/buyer', undefined, bob.headers)).data).toEqual({
    ...{ name: '', address: '', tax_id: '' },
  });
});

test('an invoice outlives its user, for administrators', async () => {
  const carol = await api.addUser('carol', 1);
  const { number } = await invoiceOf(await pay(carol.id));
  await api.gateway.database.query.updateTable('users').set({ deleted_at: 1 }).where('id', '=', carol.id).execute();
  expect((await send('GET', `/api/invoice/${number}`)).data).toMatchObject({ number, buyer: { username: 'carol' } });
});

test('invoices are exported as a table for the books: one’s own, and of all, of one user or one year for administrators', async () => {
  const dora = await api.addUser('dora', 1);
  await send('PUT', '/api/invoice/buyer', { name: '=cmd()', address: 'Weg 1\nBerlin', tax_id: 'DE2' }, dora.headers);
  const trade = await pay(dora.id);
  const { number, date } = await invoiceOf(trade);
  await send('POST', '/api/user/topup/refund', { trade_no: trade, money: '23.00' });
  const table = async (query: string, headers = root) => {
    const bytes = await (
      await fetch(`${api.base}/api/invoice/export${query}`, { headers: { ...headers, 'accept-language': 'en' } })
    ).bytes();
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    expect(text.startsWith('\uFEFF')).toBe(true);
    return parse(text, { bom: true, columns: true }) as Record<string, string>[];
  };
  const rows = await table('', dora.headers);
  expect(rows.map((row) => [row.Number?.slice(0, 3), row.Corrects, row.Net, row['Tax amount'], row.Total])).toEqual([
    ['CN-', number, '-19.33', '-3.67', '-23.00'],
    ['INV', '', '61.34', '11.66', '73.00'],
  ]);
  expect(rows[1]).toMatchObject({
    ...{ Number: number, Date: date, Order: trade, Method: 'stripe', User: 'dora', Buyer: "'=cmd()", Currency: 'USD' },
    ...{ "Buyer's address": 'Weg 1, Berlin', "Buyer's tax number": 'DE2', Tax: 'VAT', 'Tax rate (percent)': '19' },
  });
  expect(await table(`?user=${dora.id}`)).toEqual(rows);
  expect(await table('?keyword=dora')).toEqual(rows);
  expect(await table(`?user=${dora.id}&kind=invoice`)).toEqual(rows.slice(1));
  expect(await table(`?all=true&user=${dora.id}&year=${date.slice(0, 4)}`)).toEqual(rows);
  expect(await table('?all=true&year=1999')).toEqual([]);
  const { total } = (await send('GET', '/api/invoice/?p=1')).data as { total: number };
  expect(await table('?all=true')).toHaveLength(total);
  for (const query of ['?all=true', '?keyword=dora', `?user=${dora.id}`]) {
    const { body } = await api.send('GET', `/api/invoice/export${query}`, undefined, bob.headers);
    expect([query, (body as { code?: string }).code]).toEqual([query, 'role_too_low']);
  }
});

test('a list of invoices is narrowed to a year of the site’s calendar', async () => {
  const year = (await invoiceOf(await pay(bob.id))).date.slice(0, 4);
  const total = async (query: string, headers = root) =>
    ((await send('GET', `/api/invoice/${query}`, undefined, headers)).data as { total: number }).total;
  const all = await total('');
  expect(all).toBeGreaterThan(0);
  expect([await total(`?year=${year}`), await total('?year=1999')]).toEqual([all, 0]);
  expect(await total('self?year=1999', bob.headers)).toBe(0);
  expect(await total(`self?year=${year}`, bob.headers)).toBeGreaterThan(0);
});
