/** Links to documents over the API: made by whom the document concerns, opened without an account, counted, revoked, ended by time. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DocumentLink } from '../../server/contract/endpoints/link.ts';
import type { Invoice } from '../../server/contract/invoice.ts';
import type { Statement } from '../../server/contract/statement.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let alice: { id: number; headers: Headers };
let bob: { id: number; headers: Headers };
/** 15 November 2026. */
const start = Date.UTC(2026, 10, 15, 12);
const clock = { now: start };
const day = 86_400;
let number = '';

interface Made {
  readonly id: number;
  readonly path: string;
  readonly title: string;
  readonly expires_time: number;
}
interface Opened {
  readonly expires_time: number;
  readonly invoice: Invoice | null;
  readonly statement: Statement | null;
}

beforeAll(async () => {
  api = await createApiFixture({}, { now: () => clock.now });
  ({ headers: root } = await api.addUser('root', 100));
  alice = await api.addUser('alice', 1);
  bob = await api.addUser('bob', 1);
  await api.gateway.option('invoice.seller_name', 'Acme Ltd.');
  await api.gateway.rows(
    "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, 'T1', 'stripe', 10, 5000000, 7300, 'usd', 1)",
    alice.id,
  );
  await api.send('POST', '/api/user/topup/complete', { trade_no: 'T1' }, root);
  const { body } = await api.send('GET', '/api/invoice/self', undefined, alice.headers);
  number = (body.data as { items: { number: string }[] }).items[0]?.number ?? '';
});
afterAll(() => api.close());

const create = async (input: object, headers: Headers = alice.headers) =>
  (await api.send('POST', '/api/link/', input, headers)).body as { success: boolean; code?: string; data: Made };
const secretOf = ({ path }: Made): string => path.split('#')[1] ?? '';
const open = (secret: string, headers: Headers = {}) => api.send('POST', '/api/document-link', { secret }, headers);
const opened = async (secret: string) => (await open(secret)).body as { code?: string; data: Opened };
const list = async (query = '', headers: Headers = alice.headers) =>
  ((await api.send('GET', `/api/link/${query}`, undefined, headers)).body.data as { items: DocumentLink[] }).items;
const revoke = async (id: number, headers: Headers = alice.headers) =>
  (await api.send('DELETE', `/api/link/${id}`, undefined, headers)).body;

test('a link of 128 bits opens an invoice without an account: the document and nothing else', async () => {
  const { data: made } = await create({ invoice: number });
  expect(made.path).toMatch(/^\/document#[\w-]{22}$/);
  expect(made).toMatchObject({ title: number, expires_time: start / 1000 + 30 * day });
  const answer = await open(secretOf(made));
  expect(answer.headers.get('x-robots-tag')).toBe('noindex, nofollow');
  expect(answer.headers.get('cache-control')).toContain('no-store');
  const { invoice, statement, ...rest } = answer.body.data as Opened;
  expect([statement, rest]).toEqual([null, { expires_time: made.expires_time }]);
  expect(invoice).toMatchObject({ number, seller: { name: 'Acme Ltd.' }, buyer: { username: 'alice', user_id: 0 } });
  // It is no way into anything: what it opened has set no session.
  expect(answer.headers.get('set-cookie')).toBeNull();
});

test('a link opens the statement of the month that it was made for, also in later months', async () => {
  const { data: made } = await create({});
  clock.now = start + 20 * day * 1000;
  const { data } = await opened(secretOf(made));
  clock.now = start;
  expect(data.invoice).toBeNull();
  expect(data.statement).toMatchObject({ month: '2026-11', of: 'user', id: 0, name: 'alice', check: null });
  expect(made.title).toBe('2026-11 alice');
});

test('a link opens until it ends, for 30 days at most', async () => {
  for (const days of [0, -1, 31, 1000]) expect((await create({ invoice: number, days })).code).toBe('params_invalid');
  const { data: made } = await create({ invoice: number, days: 2 });
  expect(made.expires_time).toBe(start / 1000 + 2 * day);
  clock.now = (made.expires_time - 1) * 1000;
  expect((await opened(secretOf(made))).data.invoice?.number).toBe(number);
  clock.now = made.expires_time * 1000;
  const { status, body } = await open(secretOf(made));
  expect([status, body.code]).toEqual([404, 'document_link_gone']);
  expect((await list()).find(({ id }) => id === made.id)?.state).toBe('expired');
  clock.now = start;
});

test('each opening is counted, and a link that opens nothing counts none', async () => {
  const { data: made } = await create({ invoice: number });
  const row = async () => (await list()).find(({ id }) => id === made.id);
  expect(await row()).toMatchObject({ opened: 0, opened_time: 0, state: '', created_by: 'alice' });
  await opened(secretOf(made));
  await opened(secretOf(made));
  expect(await row()).toMatchObject({ opened: 2, opened_time: start / 1000 });
  await revoke(made.id);
  expect((await opened(secretOf(made))).code).toBe('document_link_gone');
  expect(await row()).toMatchObject({ opened: 2, state: 'revoked' });
});

test('a guessed, cut or listed link opens nothing', async () => {
  const { data: made } = await create({ invoice: number });
  const secret = secretOf(made);
  const [stored] = await api.gateway.rows<{ secret_hash: string }>(
    'SELECT secret_hash FROM document_links WHERE id = ?',
    made.id,
  );
  expect(JSON.stringify(await api.gateway.rows('SELECT * FROM document_links'))).not.toContain(secret);
  for (const one of ['', 'x', secret.slice(0, -1), `${secret}A`, String(made.id), stored?.secret_hash ?? ''])
    expect((await opened(one)).code).toBe('document_link_gone');
});

test('nobody makes, sees or revokes links to what is another’s, but administrators', async () => {
  expect((await create({ invoice: number }, bob.headers)).code).toBe('not_found');
  expect((await create({ user: alice.id }, bob.headers)).code).toBe('role_too_low');
  expect((await create({ tag: 'x' }, bob.headers)).code).toBe('role_too_low');
  expect((await api.send('POST', '/api/link/', { invoice: number })).body.success).toBe(false);
  const { data: made } = await create({ invoice: number });
  expect(await list('', bob.headers)).toEqual([]);
  expect((await api.send('GET', '/api/link/?all=true', undefined, bob.headers)).body.code).toBe('role_too_low');
  expect((await revoke(made.id, bob.headers)).code).toBe('not_found');
  expect((await opened(secretOf(made))).data.invoice?.number).toBe(number);
  const { data: byRoot } = await create({ invoice: number }, root);
  // Whose document it is sees who gave it away.
  expect((await list()).find(({ id }) => id === byRoot.id)?.created_by).toBe('root');
  expect((await list('?all=true', root)).map(({ id }) => id)).toEqual(expect.arrayContaining([made.id, byRoot.id]));
  expect((await revoke(made.id, root)).success).toBe(true);
  expect((await opened(secretOf(made))).code).toBe('document_link_gone');
});

test('a link opens while its maker may still give the document away: not once he is disabled, demoted, gone or outranked', async () => {
  const dan = await api.addUser('dan', 10);
  const change = (id: number, to: object) =>
    api.gateway.database.query.updateTable('users').set(to).where('id', '=', id).execute();
  const made = [
    await create({ invoice: number }, dan.headers),
    await create({ user: alice.id }, dan.headers),
    await create({ label: 'team' }, dan.headers),
  ].map(({ data }) => data);
  const codes = () => Promise.all(made.map(async (one) => (await opened(secretOf(one))).code));
  const [fine, gone] = [undefined, 'document_link_gone'];
  expect(await codes()).toEqual([fine, fine, fine]);
  await change(alice.id, { role: 10 });
  expect(await codes()).toEqual([gone, gone, fine]);
  await change(alice.id, { role: 1 });
  for (const lost of [{ role: 1 }, { status: 2 }, { deleted_at: 1 }]) {
    await change(dan.id, lost);
    expect(await codes()).toEqual([gone, gone, gone]);
    await change(dan.id, { role: 10, status: 1, deleted_at: null });
  }
  expect(await codes()).toEqual([fine, fine, fine]);
  // What was not shown is not counted.
  expect((await list('?all=true', root)).find(({ id }) => id === made[0]?.id)?.opened).toBe(2);
});

test('makers and revokers of links are in the audit trail, without the secret of a link', async () => {
  const { data: made } = await create({ invoice: number });
  await revoke(made.id);
  const { body } = await api.send('GET', '/api/audit/?p=1&page_size=100', undefined, root);
  const { items } = body.data as { items: { action: string; actor: string; detail: string }[] };
  for (const action of ['link.create', 'link.revoke']) {
    const found = items.filter((one) => one.action === action && new RegExp(`\\bid\\W+${made.id}\\b`).test(one.detail));
    expect([action, found.map(({ actor }) => actor)]).toEqual([action, ['alice']]);
  }
  expect(JSON.stringify(items)).not.toContain(secretOf(made));
});

test('an address that tries links is turned away after sixty in ten minutes', async () => {
  clock.now = start + 40 * day * 1000;
  const codes: (string | undefined)[] = [];
  for (let tries = 0; tries < 61; tries++) codes.push((await opened('guess')).code);
  expect(codes.slice(0, 60).every((code) => code === 'document_link_gone')).toBe(true);
  expect(codes[60]).toBe('too_many_attempts');
  clock.now += 601_000;
  expect((await opened('guess')).code).toBe('document_link_gone');
});

test('a link to the statement of somebody who is gone opens nothing, and ended links are forgotten after 90 days', async () => {
  const carol = await api.addUser('carol', 1);
  const { data: made } = await create({}, carol.headers);
  await api.gateway.database.query.updateTable('users').set({ deleted_at: 1 }).where('id', '=', carol.id).execute();
  expect((await opened(secretOf(made))).code).toBe('document_link_gone');
  const count = async () => (await api.gateway.rows('SELECT id FROM document_links WHERE id = ?', made.id)).length;
  clock.now += 119 * day * 1000;
  await api.gateway.services.links.sweep();
  expect(await count()).toBe(1);
  clock.now += 3 * day * 1000;
  await api.gateway.services.links.sweep();
  expect(await count()).toBe(0);
});
