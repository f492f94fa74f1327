/** Statements by mail: once for a recipient and period, whoever looks and however often; tried again when a mail fails, and told. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Role } from '../../server/contract/enum.ts';
import { monthRange } from '../../server/contract/statement.ts';
import { endedPeriod } from '../../server/contract/statement-schedule.ts';
import type { Mail } from '../../server/domain/notifications/mailer.ts';
import { createSchedules } from '../../server/domain/statements/schedules.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let ann: { id: number; headers: Headers };
let bob: { id: number; headers: Headers };
const at = (text: string): number => Date.parse(`${text}Z`) / 1000;
const clock = { now: at('2026-11-15T12:00:00') };
const sent: Mail[] = [];
const mail = { fails: false };

beforeAll(async () => {
  api = await createApiFixture(
    {},
    {
      now: () => clock.now * 1000,
      sendMail: async (one) => {
        if (mail.fails) throw new Error('the mail server is away');
        sent.push(one);
      },
    },
  );
  ({ headers: root } = await api.addUser('root', 100));
  ann = await api.addUser('ann', 1);
  bob = await api.addUser('bob', 1);
  for (const { id, name } of [
    { id: ann.id, name: 'ann' },
    { id: bob.id, name: 'bob' },
  ])
    await api.gateway.database.query
      .updateTable('users')
      .set({ email: `${name}@site.example`, setting: `{"language":"${name === 'ann' ? 'en' : 'zh'}"}` })
      .where('id', '=', id)
      .execute();
  await api.gateway.option('ServerAddress', 'https://site.example/ai');
  for (const userId of [ann.id, bob.id])
    for (const day of ['2026-11-18', '2026-11-25', '2026-12-02'])
      await api.gateway.rows(
        "INSERT INTO logs (user_id, created_at, type, username, token_name, model_name, quota, prompt_tokens, completion_tokens) VALUES (?, ?, 2, 'x', 'k', 'gpt-4o', 500000, 10, 5)",
        userId,
        at(`${day}T12:00:00`),
      );
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.gateway.rows('DELETE FROM statement_mails');
  await api.gateway.rows('DELETE FROM statement_schedules');
  await api.gateway.option('invoice.time_zone', '');
  sent.length = 0;
  mail.fails = false;
  clock.now = at('2026-11-15T12:00:00');
});

const plan = async (input: object, headers = ann.headers) =>
  (await api.send('POST', '/api/statement/schedule', input, headers)).body as {
    success: boolean;
    code?: string;
    data: { id: number };
  };
const tick = () => api.gateway.services.schedules.tick();
/** Not over the API: a session would end between two months. */
const listed = (who = ann) => api.gateway.services.schedules.list(who.id);
const seen = async (headers: Headers, query = '') =>
  ((await api.send('GET', `/api/statement/schedule${query}`, undefined, headers)).body.data ?? []) as { id: number }[];

test('on the first of the month the month before is mailed, in the language of whoever gets it, with a link that opens it', async () => {
  await plan({ every: 'month' });
  await plan({ every: 'month' }, bob.headers);
  await tick();
  clock.now = at('2026-11-30T23:59:59');
  await tick();
  expect(sent).toEqual([]);
  clock.now = at('2026-12-01T01:00:01');
  await tick();
  expect(sent.map(({ to }) => to)).toEqual(['ann@site.example', 'bob@site.example']);
  const [english, chinese] = sent;
  expect(english?.subject).toContain('Statement November 2026, ann');
  expect(english?.html).toContain('gpt-4o');
  // Two days of November; that of December is not in it.
  expect(english?.html).toContain('$2.00');
  expect(chinese?.subject).toContain('月度账单 2026年11月, bob');
  const [, secret = ''] = /https:\/\/site\.example\/ai\/document#([\w-]{22})/.exec(english?.html ?? '') ?? [];
  const { body } = await api.send('POST', '/api/document-link', { secret });
  expect(body.data).toMatchObject({ statement: { month: '2026-11', name: 'ann', total: { quota: 1_000_000 } } });
});

test('a statement is mailed once: however often one looks, with two at once, after a restart, and on later days', async () => {
  await plan({ every: 'month' });
  clock.now = at('2026-12-01T02:00:00');
  const { services, database } = api.gateway;
  const other = createSchedules({
    ...{ database, options: services.options, users: services.users, tokens: services.tokens, links: services.links },
    ...{ statements: services.statements, now: () => clock.now * 1000 },
    sendMail: async (one) => void sent.push(one),
  });
  await Promise.all([tick(), other.tick(), tick(), other.tick()]);
  for (const time of ['2026-12-01T02:01:00', '2026-12-05T00:00:00', '2026-12-31T23:00:00']) {
    clock.now = at(time);
    await tick();
    await other.tick();
  }
  expect(sent).toHaveLength(1);
  clock.now = at('2027-01-01T02:00:00');
  await other.tick();
  await tick();
  expect(sent.map(({ subject }) => subject.replace(/.*Statement /, ''))).toEqual([
    'November 2026, ann',
    'December 2026, ann',
  ]);
});

test('an administrator plans those of many customers without the log being read, and a user has a bound', async () => {
  const { services, database } = api.gateway;
  const { create } = createSchedules({
    ...{ database, options: services.options, users: services.users, tokens: services.tokens, links: services.links },
    statements: {
      subject: services.statements.subject,
      get: () => Promise.reject(new Error('nothing is mailed yet, so nothing is added up')),
    },
    ...{ now: () => clock.now * 1000, sendMail: async () => undefined },
  });
  const rootId = (await services.users.firstWithRole(Role.root))?.id ?? 0;
  const made = { userId: bob.id, scope: { userId: bob.id }, every: 'month', email: '' } as const;
  for (let at = 0; at < 50; at++) await create({ ...made, createdBy: bob.id });
  await expect(create({ ...made, createdBy: bob.id })).rejects.toMatchObject({ code: 'params_invalid' });
  for (let at = 0; at < 51; at++) await create({ ...made, createdBy: rootId });
  expect(await services.schedules.list(rootId)).toHaveLength(51);
});

test('a site that was off on the first mails it when it is back, and nothing of before it was wanted', async () => {
  clock.now = at('2026-12-03T00:00:00');
  await plan({ every: 'month' }, bob.headers);
  clock.now = at('2026-11-15T12:00:00');
  await plan({ every: 'month' });
  clock.now = at('2026-12-09T00:00:00');
  await tick();
  expect(sent.map(({ to }) => to)).toEqual(['ann@site.example']);
});

test.each([
  // Where the first begins before the month is over in UTC it is waited for, and it is the first there still.
  ['Asia/Shanghai', '2026-12-01T00:59:00', '2026-12-01T01:00:01'],
  ['Pacific/Kiritimati', '2026-12-01T00:59:00', '2026-12-01T01:00:01'],
  ['America/New_York', '2026-12-01T04:59:59', '2026-12-01T05:00:01'],
  ['Pacific/Niue', '2026-12-01T10:59:59', '2026-12-01T11:00:01'],
])('the first of the month is that of the site’s zone: %s', (zone, before, after) => {
  expect(endedPeriod('month', zone, at(before))?.name).not.toBe('2026-11');
  expect(endedPeriod('month', zone, at(after))?.name).toBe('2026-11');
  const local = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(at(after) * 1000);
  expect(local).toBe('2026-12-01');
});

test('a week is that from Monday to Sunday, and belongs to the year of its Thursday', async () => {
  expect(endedPeriod('week', '', at('2026-11-30T01:00:01'))?.name).toBe('2026-W48');
  expect(endedPeriod('week', '', at('2026-11-29T23:00:00'))?.name).toBe('2026-W47');
  expect(endedPeriod('week', '', at('2027-01-04T02:00:00'))?.name).toBe('2026-W53');
  expect(endedPeriod('week', '', at('2027-01-11T02:00:00'))?.name).toBe('2027-W01');
  expect(monthRange('2026-W48')).toEqual({ from: at('2026-11-23T00:00:00'), to: at('2026-11-29T23:59:59') });
  expect(monthRange('2026-W53')).toEqual({ from: at('2026-12-28T00:00:00'), to: at('2027-01-03T23:59:59') });
  for (const none of ['2027-W53', '2026-W00', '2026-W54', '2026-W1']) expect(monthRange(none)).toBeNull();
  await plan({ every: 'week' });
  clock.now = at('2026-11-30T02:00:00');
  await tick();
  // The week of the 25th alone; one of before it was wanted is not sent.
  expect(sent.map(({ subject, html }) => [subject.includes('2026-W48'), html.includes('$1.00')])).toEqual([
    [true, true],
  ]);
});

test('a mail that fails is tried again every quarter of an hour, eight times, and then operators are told', async () => {
  const { data } = await plan({ every: 'month' });
  mail.fails = true;
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  await tick();
  expect(await listed()).toMatchObject([
    { state: 'failed', tries: 1, period: '2026-11', error: /mail server is away/ },
  ]);
  const links = async () => (await api.gateway.rows('SELECT id FROM document_links WHERE revoked_at = 0')).length;
  const before = await links();
  for (let tries = 2; tries <= 8; tries++) {
    expect(await api.gateway.services.schedules.troubles()).toEqual([]);
    clock.now += 899;
    await tick();
    expect((await listed())[0]?.tries).toBe(tries - 1);
    clock.now += 1;
    await tick();
    expect((await listed())[0]?.tries).toBe(tries);
  }
  clock.now += 86_400;
  mail.fails = false;
  await tick();
  expect(sent).toEqual([]);
  expect(await api.gateway.services.schedules.troubles()).toMatchObject([{ id: data.id, period: '2026-11' }]);
  // What was not delivered opens nothing.
  expect(await links()).toBe(before);
});

test('a mail that goes out at the second try is sent once', async () => {
  await plan({ every: 'month' });
  mail.fails = true;
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  mail.fails = false;
  clock.now += 900;
  await tick();
  clock.now += 900;
  await tick();
  expect(sent).toHaveLength(1);
  expect(await listed()).toMatchObject([{ state: 'sent', tries: 2, error: '' }]);
});

test('a mail whose end nobody saw is not sent again, and told', async () => {
  const { data } = await plan({ every: 'month' });
  clock.now = at('2026-12-01T02:00:00');
  await api.gateway.rows(
    "INSERT INTO statement_mails (schedule_id, period, state, tries, tried_at, error) VALUES (?, '2026-11', 'claimed', 1, ?, '')",
    data.id,
    clock.now,
  );
  clock.now += 3601;
  await tick();
  expect(sent).toEqual([]);
  expect((await listed())[0]?.state).toBe('unknown');
  expect(await api.gateway.services.schedules.troubles()).toMatchObject([{ id: data.id }]);
});

test('a mail that was sent is not sent again where that cannot be noted', async () => {
  await plan({ every: 'month' });
  const onServer = api.gateway.database.engine === 'postgres';
  await api.gateway.rows(
    onServer
      ? "ALTER TABLE statement_mails ADD CONSTRAINT disk_full CHECK (state <> 'sent')"
      : "CREATE TRIGGER disk_full BEFORE UPDATE ON statement_mails WHEN NEW.state = 'sent' BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  clock.now = at('2026-12-01T02:00:00');
  await tick().catch(() => undefined);
  await api.gateway.rows(onServer ? 'ALTER TABLE statement_mails DROP CONSTRAINT disk_full' : 'DROP TRIGGER disk_full');
  clock.now += 3601;
  await tick();
  expect(sent).toHaveLength(1);
  expect((await listed())[0]?.state).toBe('unknown');
});

test('the statement of a key has a link that opens it', async () => {
  const key = await api.gateway.services.tokens.create(ann.id, { name: 'k', unlimited_quota: true });
  await api.gateway.rows('UPDATE logs SET token_id = ? WHERE user_id = ?', key.id, ann.id);
  await plan({ every: 'month', token: key.id });
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  const [, secret = ''] = /document#([\w-]{22})/.exec(sent[0]?.html ?? '') ?? [];
  const { body } = await api.send('POST', '/api/document-link', { secret });
  expect(body.data).toMatchObject({ statement: { of: 'token', name: 'k', total: { quota: 1_000_000 } } });
});

test('a schedule for a deleted user is forgotten, and nobody is told each month', async () => {
  const eve = await api.addUser('eve', 1);
  await plan({ every: 'month' });
  await plan({ every: 'month' }, eve.headers);
  await plan({ every: 'month', label: 'team', to: eve.id }, root);
  await api.gateway.database.query.updateTable('users').set({ deleted_at: 1 }).where('id', '=', eve.id).execute();
  await api.gateway.services.schedules.sweep();
  expect((await api.gateway.services.schedules.list()).map(({ user_id }) => user_id)).toEqual([ann.id]);
});

test('a month without charges sends no mail', async () => {
  const carol = await api.addUser('carol', 1);
  await api.gateway.database.query
    .updateTable('users')
    .set({ email: 'c@site.example' })
    .where('id', '=', carol.id)
    .execute();
  await plan({ every: 'month' }, carol.headers);
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  expect(sent).toEqual([]);
  expect((await listed(carol))[0]?.state).toBe('empty');
});

test('statements of periods that ended while paused are not sent later', async () => {
  const { data } = await plan({ every: 'month' });
  const path = `/api/statement/schedule/${data.id}`;
  expect((await api.send('PUT', path, { paused: true }, ann.headers)).body.success).toBe(true);
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  clock.now = at('2026-12-02T02:00:00');
  await api.gateway.services.schedules.update(data.id, { paused: false });
  await tick();
  expect(sent).toEqual([]);
  clock.now = at('2027-01-01T02:00:00');
  await tick();
  expect(sent).toHaveLength(1);
  clock.now = at('2026-11-15T12:00:00');
  expect((await api.send('DELETE', path, undefined, ann.headers)).body.success).toBe(true);
  expect(await listed()).toEqual([]);
});

test('users plan their own to their own address, administrators anybody’s to any', async () => {
  expect((await plan({ user: bob.id })).code).toBe('role_too_low');
  expect((await plan({ to: bob.id })).code).toBe('role_too_low');
  expect((await plan({ email: 'stranger@else.example' })).code).toBe('role_too_low');
  const { data } = await plan({});
  const path = `/api/statement/schedule/${data.id}`;
  for (const [method, body] of [
    ['PUT', { paused: true }],
    ['DELETE', undefined],
  ] as const)
    expect((await api.send(method, path, body, bob.headers)).body.code).toBe('not_found');
  expect((await api.send('PUT', path, { email: 'x@else.example' }, ann.headers)).body.code).toBe('role_too_low');
  expect(await seen(bob.headers)).toEqual([]);
  expect((await api.send('GET', '/api/statement/schedule?all=true', undefined, bob.headers)).body.code).toBe(
    'role_too_low',
  );
  expect((await plan({ user: ann.id, email: 'not an address' }, root)).code).toBe('email_invalid');
  expect((await plan({ user: ann.id, email: 'books@else.example' }, root)).success).toBe(true);
  expect(await seen(root, '?all=true')).toHaveLength(2);
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  expect(sent.map(({ to }) => to).sort()).toEqual(['ann@site.example', 'books@else.example']);
});

test('planning, changing and ending a mail is in the audit trail, and so is naming another’s buyer', async () => {
  const { data } = await plan({ user: ann.id, email: 'books@elsewhere.example' }, root);
  const path = `/api/statement/schedule/${data.id}`;
  await api.send('PUT', path, { paused: true }, ann.headers);
  await api.send('DELETE', path, undefined, ann.headers);
  await api.send('PUT', '/api/invoice/buyer', { user: ann.id, name: 'Ann Ltd' }, root);
  await api.send('PUT', '/api/invoice/buyer', { name: 'Bob Ltd' }, bob.headers);
  const { body } = await api.send('GET', '/api/audit/?p=1&page_size=100', undefined, root);
  const { items } = body.data as { items: { action: string; actor: string; detail: string }[] };
  const found = items
    .filter(
      ({ action, detail }) => action === 'invoice.save_buyer' || new RegExp(`\\bid\\W+${data.id}\\b`).test(detail),
    )
    .map(({ action, actor }) => `${action} ${actor}`);
  expect(found.filter((one) => /^(statement|invoice)/.test(one)).sort()).toEqual([
    'invoice.save_buyer root',
    'statement.delete_schedule ann',
    'statement.edit_schedule ann',
    'statement.schedule root',
  ]);
});

test('a planner without rights, or a disabled one, gets and sends nothing more', async () => {
  const dan = await api.addUser('dan', 10);
  await plan({ user: ann.id, email: 'books@else.example' }, dan.headers);
  await plan({});
  const change = (id: number, to: object) =>
    api.gateway.database.query.updateTable('users').set(to).where('id', '=', id).execute();
  await change(dan.id, { role: 1 });
  await change(ann.id, { status: 2 });
  clock.now = at('2026-12-01T02:00:00');
  await tick();
  await change(ann.id, { status: 1 });
  expect(sent).toEqual([]);
  expect((await listed()).map(({ state }) => state)).toEqual(['failed', 'failed']);
});
