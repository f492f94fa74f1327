/** Monthly statements: what was charged by day and model, of a user, a key or a tag; sums that add up and can be recomputed. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refundRef } from '../../server/billing/ledger/commands.ts';
import { LogType } from '../../server/contract/enum.ts';
import type { Statement, StatementShares } from '../../server/contract/statement.ts';
import { localOwner } from '../../server/http/call.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let root: Headers;
let ann: { id: number; headers: Headers };
let bob: { id: number; headers: Headers };
let upstream: Upstream;
let keys: { laptop: number; ci: number; other: number };
/** 15 November 2026. */
const noon = Date.UTC(2026, 10, 15, 12) / 1000;

async function keyOf(owner: number, name: string): Promise<{ id: number; key: string }> {
  return api.gateway.services.tokens.create(owner, { name, unlimited_quota: true });
}
/** @param at when the row is said to have been written. */
async function ask(key: string, model: string, at: number): Promise<void> {
  await (await api.gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] })).text();
  await api.gateway.ledger.drain();
  const [row] = await api.gateway.rows<{ id: number }>('SELECT max(id) AS id FROM logs');
  await api.gateway.database.query
    .updateTable('logs')
    .set({ created_at: at })
    .where('id', '=', row?.id ?? 0)
    .execute();
}

beforeAll(async () => {
  api = await createApiFixture({}, { now: () => noon * 1000 });
  ({ headers: root } = await api.addUser('root', 100));
  ann = await api.addUser('ann', 1);
  bob = await api.addUser('bob', 1);
  for (const { id } of [ann, bob]) await api.send('PUT', '/api/user/', { id, add_quota: 50_000_000 }, root);
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await api.gateway.channel(upstream.url, { models: 'gpt-4o-mini', tag: 'cheap' });
  await api.gateway.channel(upstream.url, { models: 'gpt-4o', tag: 'dear' });
  const [laptop, ci, other] = [await keyOf(ann.id, 'laptop'), await keyOf(ann.id, 'ci'), await keyOf(bob.id, '=cmd()')];
  keys = { laptop: laptop.id, ci: ci.id, other: other.id };
  await api.gateway.sync();
  const day = 86_400;
  await ask(laptop.key, 'gpt-4o-mini', noon);
  await ask(laptop.key, 'gpt-4o-mini', noon + 60);
  await ask(laptop.key, 'gpt-4o', noon);
  await ask(ci.key, 'gpt-4o-mini', noon - 2 * day);
  await ask(other.key, 'gpt-4o', noon);
  // The seconds at the ends of the month, and those beside them.
  await ask(ci.key, 'gpt-4o-mini', Date.UTC(2026, 10, 1) / 1000);
  await ask(ci.key, 'gpt-4o-mini', Date.UTC(2026, 11, 1) / 1000 - 1);
  await ask(ci.key, 'gpt-4o-mini', Date.UTC(2026, 10, 1) / 1000 - 1);
  await ask(ci.key, 'gpt-4o-mini', Date.UTC(2026, 11, 1) / 1000);
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});

const get = async (query: string, as = root): Promise<Statement> =>
  (await api.send('GET', `/api/statement/?${query}`, undefined, as)).body.data as Statement;
const short = ({ lines }: Statement) => lines.map(({ day, model, requests }) => `${day} ${model} ${requests}`);

test('a user’s month has a line for each day and model, the dearest first, and ends where the month does', async () => {
  const statement = await get(`user=${ann.id}&month=2026-11`);
  expect(short(statement)).toEqual([
    '2026-11-01 gpt-4o-mini 1',
    '2026-11-13 gpt-4o-mini 1',
    '2026-11-15 gpt-4o 1',
    '2026-11-15 gpt-4o-mini 2',
    '2026-11-30 gpt-4o-mini 1',
  ]);
  expect(statement).toMatchObject({ of: 'user', name: 'ann', username: 'ann', month: '2026-11', check: null });
  const sum = statement.lines.reduce((all, line) => all + line.quota, 0);
  expect([statement.total.quota, statement.total.requests]).toEqual([sum, 6]);
  expect(statement.total).toMatchObject({ prompt_tokens: 6000, completion_tokens: 3000 });
  expect(short(await get(`user=${ann.id}&month=2026-10`))).toEqual(['2026-10-31 gpt-4o-mini 1']);
  expect(short(await get(`user=${ann.id}&month=2026-12`))).toEqual(['2026-12-01 gpt-4o-mini 1']);
  expect((await get(`user=${ann.id}`)).month).toBe('2026-11');
});

test('a key and a tag have statements of their own', async () => {
  const ofKey = await get(`token=${keys.laptop}`);
  expect(short(ofKey)).toEqual(['2026-11-15 gpt-4o 1', '2026-11-15 gpt-4o-mini 2']);
  expect(ofKey).toMatchObject({ of: 'token', id: keys.laptop, name: 'laptop', username: 'ann' });
  const ofTag = await get('tag=dear');
  expect(short(ofTag)).toEqual(['2026-11-15 gpt-4o 2']);
  expect(ofTag).toMatchObject({ of: 'tag', name: 'dear', username: '' });
  expect((await get('tag=nothing')).lines).toEqual([]);
});

test('a statement in the columns of FOCUS has its mandatory columns, one row a line, and the same sum in dollars', async () => {
  const statement = await get(`user=${ann.id}&month=2026-11`);
  const response = await fetch(`${api.base}/api/statement/export?user=${ann.id}&month=2026-11&format=focus`, {
    headers: root,
  });
  expect(response.headers.get('content-disposition')).toContain('focus-ann-2026-11.csv');
  const text = await response.text();
  expect(text.startsWith('BilledCost,')).toBe(true);
  const rows = parse(text, { columns: true }) as Record<string, string>[];
  // FOCUS 1.2, the columns of the feature level "Mandatory".
  for (const name of [
    ...['BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingCurrency', 'BillingPeriodEnd'],
    ...['BillingPeriodStart', 'ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargePeriodEnd'],
    ...['ChargePeriodStart', 'ContractedCost', 'EffectiveCost', 'InvoiceIssuerName', 'ListCost', 'PricingQuantity'],
    ...['PricingUnit', 'ProviderName', 'PublisherName', 'ServiceCategory', 'ServiceName'],
  ])
    expect(Object.keys(rows[0] ?? {})).toContain(name);
  expect(rows.map((row) => `${row.ChargePeriodStart?.slice(0, 10)} ${row.ServiceName} ${row.PricingQuantity}`)).toEqual(
    short(statement),
  );
  for (const cost of ['BilledCost', 'ContractedCost', 'EffectiveCost', 'ListCost'])
    expect(rows.reduce((sum, row) => sum + Math.round(Number(row[cost]) * 500_000), 0)).toBe(statement.total.quota);
  expect(rows[0]).toMatchObject({
    ...{ BillingAccountId: `user:${ann.id}`, BillingAccountName: 'ann', BillingCurrency: 'USD', ChargeClass: '' },
    ...{ BillingPeriodStart: '2026-11-01T00:00:00Z', BillingPeriodEnd: '2026-12-01T00:00:00Z' },
    ...{ ChargePeriodStart: '2026-11-01T00:00:00Z', ChargePeriodEnd: '2026-11-02T00:00:00Z' },
    ...{ ChargeCategory: 'Usage', ServiceCategory: 'AI and Machine Learning', ConsumedQuantity: '1500' },
  });
});

test('every charge of a statement is recomputed from its row', async () => {
  expect((await get(`user=${ann.id}&check=true`)).check).toEqual({ checked: 6, unequal: 0 });
  const [row] = await api.gateway.rows<{ id: number; quota: number }>(
    'SELECT id, quota FROM logs WHERE token_id = ?',
    keys.other,
  );
  const set = (quota: number) =>
    api.gateway.database.query
      .updateTable('logs')
      .set({ quota })
      .where('id', '=', row?.id ?? 0)
      .execute();
  await set((row?.quota ?? 0) + 1);
  expect((await get(`user=${bob.id}&check=true`)).check).toEqual({ checked: 1, unequal: 1 });
  await set(row?.quota ?? 0);
});

/** A key with labels of `of`, and its requests for the projects. */
async function labelled(
  of: { id: number },
  name: string,
  labels: string,
  projects: readonly string[],
): Promise<number> {
  const { id, key } = await api.gateway.services.tokens.create(of.id, { name, unlimited_quota: true, labels });
  await api.gateway.sync();
  for (const project of projects) {
    const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], metadata: { project } };
    await (await api.gateway.chat(key, body)).text();
  }
  await api.gateway.ledger.drain();
  await api.gateway.database.query
    .updateTable('logs')
    .set({ created_at: Date.UTC(2026, 8, 5) / 1000 })
    .where('token_id', '=', id)
    .execute();
  return id;
}
let shared: { annA: number; annB: number; bobA: number };
async function withLabels(): Promise<typeof shared> {
  shared ??= {
    annA: await labelled(ann, 'ann-a', 'team-a,night', ['web', 'web', 'app']),
    annB: await labelled(ann, 'ann-b', 'team-ab', ['web', '']),
    bobA: await labelled(bob, 'bob-a', 'team-a', ['web']),
  };
  return shared;
}
const sept = 'month=2026-09';

test('a label and a project have statements, of everybody or of one user', async () => {
  const { annA } = await withLabels();
  expect(await get(`label=team-a&${sept}`)).toMatchObject({
    ...{ of: 'label', id: 0, name: 'team-a', username: '' },
    total: { requests: 4 },
  });
  expect(await get(`label=team-a&user=${ann.id}&${sept}`)).toMatchObject({
    ...{ of: 'label', id: ann.id, name: 'team-a', username: 'ann' },
    total: { requests: 3 },
  });
  // Whole labels, not beginnings of them.
  expect((await get(`label=team&${sept}`)).lines).toEqual([]);
  expect(await get(`project=web&${sept}`)).toMatchObject({ of: 'project', id: 0, name: 'web', total: { requests: 4 } });
  expect((await get(`project=web&user=${ann.id}&${sept}`)).total.requests).toBe(3);
  expect((await get(`project=nothing&${sept}`)).lines).toEqual([]);
  // What is a user's key, a label of it alone and its projects together cost the same.
  const ofKey = (await get(`token=${annA}&${sept}`)).total;
  expect((await get(`label=night&${sept}`)).total).toEqual(ofKey);
  expect((await get(`label=team-a&${sept}&check=true`)).check).toEqual({ checked: 4, unequal: 0 });
  expect((await get(`project=web&${sept}&check=true`)).check).toEqual({ checked: 4, unequal: 0 });
});

test('a user’s label and project are his own, whoever else uses their names', async () => {
  await withLabels();
  expect(await get(`label=team-a&${sept}`, bob.headers)).toMatchObject({
    id: bob.id,
    username: 'bob',
    total: { requests: 1 },
  });
  expect((await get(`project=web&${sept}`, ann.headers)).total.requests).toBe(3);
  for (const query of [`label=team-a&user=${bob.id}`, `project=web&user=${bob.id}`]) {
    const { body } = await api.send('GET', `/api/statement/?${query}`, undefined, ann.headers);
    expect(body).toMatchObject({ success: false, code: 'role_too_low' });
  }
  for (const query of ['label=a&project=b', 'label=a&tag=b', `token=${keys.ci}&project=b`])
    expect((await api.send('GET', `/api/statement/?${query}`, undefined, root)).body.code).toBe('params_invalid');
});

test('the CSV of a label and of a project names them, in FOCUS with its user too', async () => {
  await withLabels();
  const focus = async (query: string) => {
    const response = await fetch(`${api.base}/api/statement/export?${query}&${sept}&format=focus`, { headers: root });
    return (parse(await response.text(), { columns: true }) as Record<string, string>[])[0];
  };
  expect(await focus('label=team-a')).toMatchObject({ BillingAccountId: 'label:team-a', BillingAccountName: 'team-a' });
  expect(await focus(`project=web&user=${ann.id}`)).toMatchObject({ BillingAccountId: `user:${ann.id}:project:web` });
});

const sharesOf = async (query: string, as = root) =>
  (await api.send('GET', `/api/statement/shares?${query}&${sept}`, undefined, as)).body.data as StatementShares;
const counts = ({ shares }: StatementShares) =>
  Object.fromEntries(shares.map(({ name, username, requests }) => [`${name}|${username}`, requests]));

test('a month is divided by user, key, label and project, each share as its own statement says', async () => {
  const { annA, annB } = await withLabels();
  expect(counts(await sharesOf('by=user'))).toEqual({ 'ann|ann': 5, 'bob|bob': 1 });
  expect(counts(await sharesOf('by=token'))).toEqual({ 'ann-a|ann': 3, 'ann-b|ann': 2, 'bob-a|bob': 1 });
  expect(counts(await sharesOf('by=label'))).toEqual({ 'team-a|': 4, 'night|': 3, 'team-ab|': 2 });
  expect(counts(await sharesOf('by=project'))).toEqual({ 'web|ann': 3, 'app|ann': 1, '|ann': 1, 'web|bob': 1 });
  expect(counts(await sharesOf(`by=label&user=${ann.id}`))).toEqual({
    'team-a|ann': 3,
    'night|ann': 3,
    'team-ab|ann': 2,
  });
  const whole = await sharesOf('by=project');
  expect(whole.total.requests).toBe(6);
  for (const by of ['user', 'token', 'project'] as const) {
    const { shares, total } = await sharesOf(`by=${by}`);
    expect(total).toEqual(whole.total);
    expect(shares.reduce((sum, share) => sum + share.quota, 0)).toBe(total.quota);
  }
  for (const [id, requests] of [
    [annA, 3],
    [annB, 2],
  ] as const) {
    const share = (await sharesOf('by=token')).shares.find((one) => one.id === id);
    expect(share).toMatchObject({ ...(await get(`token=${id}&${sept}`)).total, requests });
  }
  const web = (await sharesOf('by=project')).shares.find((one) => one.name === 'web' && one.username === 'ann');
  expect(web).toMatchObject((await get(`project=web&user=${ann.id}&${sept}`)).total);
});

test('a user divides his own month alone', async () => {
  await withLabels();
  expect(counts(await sharesOf('by=label', bob.headers))).toEqual({ 'team-a|bob': 1 });
  expect(counts(await sharesOf('', ann.headers))).toEqual({ 'ann-a|ann': 3, 'ann-b|ann': 2 });
  expect((await api.send('GET', `/api/statement/shares?user=${bob.id}`, undefined, ann.headers)).body.code).toBe(
    'role_too_low',
  );
  expect((await api.send('GET', '/api/statement/shares?by=month', undefined, root)).body.success).toBe(false);
});

test('a refund lowers the share and the statement of its own project, and no other', async () => {
  const { annA } = await withLabels();
  const before = { web: await get(`project=web&${sept}`), app: await get(`project=app&${sept}`) };
  const [charged] = await api.gateway.rows<{ request_id: string; channel_id: number; quota: number }>(
    "SELECT request_id, channel_id, quota FROM logs JOIN names ON names.id = logs.project_id WHERE token_id = ? AND text = 'web'",
    annA,
  );
  if (charged === undefined) throw new Error('no row');
  const ref = refundRef(charged.request_id);
  const at = Date.UTC(2026, 8, 6) / 1000;
  const whose = { userId: ann.id, username: 'ann', model: 'gpt-4o-mini' };
  await api.gateway.ledger.execute({
    type: 'refund',
    ...{ ref, of: charged.request_id, amount: charged.quota, at, ...whose },
    log: {
      ...{ requestId: ref, createdAt: at, type: LogType.system, ...whose, tokenName: '', group: '' },
      ...{ tokenId: annA, channelId: charged.channel_id, isStream: false, useTime: 0 },
      ...{ promptTokens: 0, completionTokens: 0, quota: 0, content: '', other: '', usageSource: 'none' },
      endReason: 'upstream_failed',
    },
  });
  await api.gateway.ledger.drain();
  const after = await get(`project=web&${sept}`);
  expect(after.lines).toContainEqual(
    expect.objectContaining({ day: '2026-09-06', refund: true, quota: -charged.quota }),
  );
  expect(after.total.quota).toBe(before.web.total.quota - charged.quota);
  expect(await get(`project=app&${sept}`)).toEqual(before.app);
  const share = (await sharesOf('by=project')).shares.find((one) => one.name === 'web' && one.username === 'ann');
  expect(share?.quota).toBe((await get(`project=web&user=${ann.id}&${sept}`)).total.quota);
  expect((await get(`label=night&${sept}`)).total).toEqual((await get(`token=${annA}&${sept}`)).total);
});

test('the log is filtered by a label of keys, for a user among his own rows', async () => {
  await withLabels();
  const rows = async (path: string, as: Headers) =>
    ((await api.send('GET', `${path}?label=team-a&type=2`, undefined, as)).body.data as { total: number }).total;
  expect(await rows('/api/log/', root)).toBe(4);
  expect(await rows('/api/log/self', bob.headers)).toBe(1);
  const { body } = await api.send('GET', '/api/log/stat?label=team-a', undefined, root);
  expect((body.data as { requests: number }).requests).toBe(4);
});

test('a user sees only the own statements', async () => {
  expect(short(await get('', ann.headers))).toHaveLength(5);
  expect(short(await get(`token=${keys.ci}`, ann.headers))).toHaveLength(3);
  for (const query of [`user=${bob.id}`, `token=${keys.other}`, 'tag=dear'])
    for (const path of ['', 'export']) {
      const { body } = await api.send('GET', `/api/statement/${path}?${query}`, undefined, ann.headers);
      expect([query, body.success, body.data]).toEqual([query, false, undefined]);
    }
  expect((await api.send('GET', '/api/statement/')).status).toBe(401);
});

test.each(['2026-13', '2026', 'x', '2026-1'])('month %s is refused', async (month) => {
  expect((await api.send('GET', `/api/statement/?month=${month}`, undefined, root)).body.code).toBe('params_invalid');
});

test('one of user, key and tag is asked for', async () => {
  const { body } = await api.send('GET', `/api/statement/?user=${ann.id}&tag=dear`, undefined, root);
  expect(body.code).toBe('params_invalid');
});

test('the CSV has dates and money, adds up, and nothing a spreadsheet runs', async () => {
  const response = await fetch(`${api.base}/api/statement/export?user=${ann.id}`, {
    headers: { ...root, 'accept-language': 'en' },
  });
  expect(response.headers.get('content-disposition')).toContain('statement-ann-2026-11.csv');
  const [head, ...rows] = parse(await response.text(), { bom: true }) as string[][];
  expect(head).toEqual(['Date', 'Model', 'Requests', 'Input tokens', 'Output tokens', 'Amount (USD)']);
  expect(rows.at(-1)?.slice(0, 3)).toEqual(['Total', '', '6']);
  const amounts = rows.map((row) => Number(row[5]));
  const sum = amounts.slice(0, -1).reduce((all, one) => all + one, 0);
  expect(amounts.at(-1)).toBeCloseTo(sum, 9);
  expect(amounts.at(-1)).toBeGreaterThan(0);
  for (const row of rows.slice(0, -1)) expect(row[0]).toMatch(/^2026-11-\d\d$/);
  const evil = await fetch(`${api.base}/api/statement/export?token=${keys.other}`, { headers: root });
  expect(evil.headers.get('content-disposition')).toContain('statement--cmd--2026-11.csv');
});

test('the owner of the machine gets the own statement without a number', async () => {
  const statement = (await api.gateway.call('statement.get', {}, localOwner)) as Statement;
  expect(statement).toMatchObject({ of: 'user', name: 'tester', lines: [] });
});

test('a refund of a failed request lowers the bill of its user, key and tag, and no other', async () => {
  const { gateway } = api;
  const before = { ann: await get(`user=${ann.id}`), bob: await get(`user=${bob.id}`) };
  const [charged] = await gateway.rows<{ request_id: string; token_id: number; channel_id: number; quota: number }>(
    "SELECT request_id, token_id, channel_id, quota FROM logs WHERE token_id = ? AND model_name = 'gpt-4o'",
    keys.laptop,
  );
  if (charged === undefined) throw new Error('no row');
  const ref = refundRef(charged.request_id);
  const at = noon + 86_400;
  const whose = { userId: ann.id, username: 'ann', model: 'gpt-4o' };
  await gateway.ledger.execute({
    type: 'refund',
    ...{ ref, of: charged.request_id, amount: charged.quota, at, ...whose },
    log: {
      ...{ requestId: ref, createdAt: at, type: LogType.system, ...whose, tokenName: '', group: '' },
      ...{ tokenId: charged.token_id, channelId: charged.channel_id, isStream: false, useTime: 0 },
      ...{ promptTokens: 0, completionTokens: 0, quota: 0, content: '', other: '', usageSource: 'none' },
      endReason: 'upstream_failed',
    },
  });
  await gateway.ledger.drain();
  const line = { day: '2026-11-16', model: 'gpt-4o', refund: true, requests: 0, quota: -charged.quota };
  for (const query of [`user=${ann.id}`, `token=${keys.laptop}`, 'tag=dear'])
    expect((await get(query)).lines).toContainEqual(expect.objectContaining(line));
  expect((await get(`user=${ann.id}`)).total).toEqual({
    ...before.ann.total,
    quota: before.ann.total.quota - charged.quota,
  });
  expect(await get(`user=${bob.id}`)).toEqual(before.bob);
  expect((await get(`token=${keys.ci}`)).lines.some(({ refund }) => refund)).toBe(false);
  expect((await get(`user=${ann.id}&check=true`)).check).toEqual({ checked: 6, unequal: 0 });
});

test('the bills of who ranks as high are not read by an administrator, not by the key either', async () => {
  const admin = await api.addUser('admin', 10);
  const first = await api.gateway.services.users.findByLogin('root');
  const { id: key } = await api.gateway.services.tokens.create(first?.id ?? 0, { name: 'secret' });
  const { id: peerKey } = await api.gateway.services.tokens.create(admin.id, { name: 'own' });
  const ask = async (query: string, headers: Headers) =>
    (await api.send('GET', `/api/statement/?${query}`, undefined, headers)).body;
  const other = await api.addUser('other-admin', 10);
  for (const query of [`user=${first?.id}`, `token=${key}`, `user=${other.id}`])
    expect(await ask(query, admin.headers)).toMatchObject({ success: false, code: 'user_rank_read' });
  for (const query of [`user=${admin.id}`, `token=${peerKey}`, `user=${ann.id}`, `token=${keys.laptop}`, 'tag=cheap'])
    expect(await ask(query, admin.headers)).toMatchObject({ success: true });
  for (const query of [`user=${admin.id}`, `token=${key}`])
    expect(await ask(query, root)).toMatchObject({ success: true });
});

test('a site that bills afterwards names seller, buyer and tax in a user’s whole month, and any other names none', async () => {
  const get = async (query: string) =>
    ((await api.send('GET', `/api/statement/?${query}`, undefined, root)).body as { data: Statement }).data;
  const month = `month=2026-11&user=${ann.id}`;
  const set = async (options: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(options)) await api.gateway.option(name, value);
  };
  await set({ 'invoice.seller_name': 'Acme Ltd.', 'invoice.tax_rate': '19', 'invoice.note': 'Due in 14 days.' });
  expect((await get(month)).bill).toBeNull();
  // So that a few requests come to more than a cent.
  await set({ 'invoice.statement_bills': 'true', QuotaPerUnit: '1000' });
  await api.send('PUT', '/api/invoice/buyer', { name: 'Ann GmbH' }, ann.headers);
  const { bill, total } = await get(month);
  expect(bill).toMatchObject({
    ...{ seller: { name: 'Acme Ltd.' }, buyer: { name: 'Ann GmbH' }, tax_name: 'VAT', tax_rate: '19' },
    ...{ gross: Math.round((total.quota * 100) / 1000), note: 'Due in 14 days.' },
  });
  expect(bill?.gross).toBeGreaterThan(0);
  expect((bill?.net ?? 0) + (bill?.tax ?? 0)).toBe(bill?.gross);
  expect(bill?.net).toBe(Math.round((bill?.gross ?? 0) / 1.19));
  // A part of what is billed is no bill, and neither is a site's that names no seller or shows no currency.
  expect((await get(`month=2026-11&token=${keys.ci}`)).bill).toBeNull();
  expect((await get('month=2026-11&tag=dear')).bill).toBeNull();
  await set({ 'invoice.tax_rate': '0' });
  expect((await get(month)).bill).toMatchObject({ tax: 0, net: bill?.gross, tax_name: '', tax_rate: '' });
  for (const off of [{ DisplayInCurrencyEnabled: 'false' }, { 'invoice.seller_name': '' }]) {
    await set({ DisplayInCurrencyEnabled: 'true', 'invoice.seller_name': 'Acme Ltd.', ...off });
    expect((await get(month)).bill).toBeNull();
  }
  await set({ DisplayInCurrencyEnabled: 'true', 'invoice.statement_bills': 'false', QuotaPerUnit: '500000' });
});
