/** The right to send a statement's mail, and the count of a link, where several nodes ask at once. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import { createDocumentLinksRepository } from '../../db/repositories/document-links.ts';
import { createStatementSchedulesRepository } from '../../db/repositories/statement-schedules.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
let nodes: PostgresDatabase[];

beforeEach(async () => {
  site = await openSite();
  nodes = await Promise.all(
    [1, 2, 3].map(() => openPostgres({ engine: 'postgres', url: site.url }, { connections: 4 })),
  );
});
afterEach(async () => {
  for (const node of nodes) await node.close();
  await site.drop();
});

test('of three nodes that claim a mail at once one gets it, and one its next try after it failed', async () => {
  const schedules = nodes.map(createStatementSchedulesRepository);
  const claims = async (now: number) => {
    const bounds = { retryBefore: now - 900, maxTries: 8 };
    const all = await Promise.all(
      Array.from({ length: 24 }, (_, at) => schedules[at % 3]?.claim(1, '2026-11', now, bounds)),
    );
    return all.filter((tries) => tries !== 0);
  };
  expect(await claims(1000)).toEqual([1]);
  expect(await claims(5000)).toEqual([]);
  await schedules[0]?.finish(1, '2026-11', 'failed', 'away');
  expect(await claims(1899)).toEqual([]);
  expect(await claims(1900)).toEqual([2]);
  await schedules[1]?.finish(1, '2026-11', 'sent', '');
  expect(await claims(9000)).toEqual([]);
  expect([...((await schedules[2]?.done('2026-11', 9000, 8)) ?? [])]).toEqual([1]);
});

test('the list of what is planned shows the last mail of each, and what failed for good is found', async () => {
  const [schedules] = nodes.map(createStatementSchedulesRepository);
  if (schedules === undefined) throw new Error('no node');
  const plan = { of_kind: 'user', name: 'ann', every: 'month', email: '', paused: 0, since: 0, created_at: 1 };
  const one = await schedules.create({ ...plan, user_id: 7, scope: '{"userId":7}', created_by: 7 });
  const other = await schedules.create({ ...plan, user_id: 8, scope: '{"userId":8}', created_by: 7 });
  const bounds = { retryBefore: 0, maxTries: 1 };
  for (const [at, period] of [
    [100, '2026-10'],
    [200, '2026-11'],
  ] as const)
    await schedules.claim(one, period, at, bounds);
  await schedules.finish(one, '2026-10', 'sent', '');
  await schedules.finish(one, '2026-11', 'failed', 'away');
  const found = (await schedules.list(7)).map(({ id, period, state }) => [id, period, state]);
  expect(found).toEqual([
    [one, '2026-11', 'failed'],
    [other, null, null],
  ]);
  expect((await schedules.list(8)).map(({ id }) => id)).toEqual([other]);
  expect((await schedules.due('month', 10)).map(({ id }) => id)).toEqual([one, other]);
  expect((await schedules.troubles(150, 0, 1)).map(({ period }) => period)).toEqual(['2026-11']);
  await schedules.remove(one);
  expect(await site.rows('SELECT period FROM statement_mails')).toEqual([]);
});

test('each opening of a link on three nodes is counted once, and none after it was revoked', async () => {
  const links = nodes.map(createDocumentLinksRepository);
  const row = { user_id: 7, kind: 'invoice', subject: 'INV-2026-000001', title: 'INV-2026-000001' };
  const id = await links[0]?.create({ ...row, secret_hash: 'hash', created_by: 7, created_at: 1, expires_at: 100 });
  const count = () => Promise.all(Array.from({ length: 30 }, (_, at) => links[at % 3]?.countOpened(id ?? 0, 50)));
  expect((await count()).every((counted) => counted === true)).toBe(true);
  expect((await links[1]?.find(id ?? 0))?.opened).toBe(30);
  expect((await links[0]?.withSecret('hash', 99))?.id).toBe(id);
  expect(await links[0]?.withSecret('hash', 100)).toBeUndefined();
  await links[2]?.revoke(id ?? 0, 60);
  expect(await links[0]?.withSecret('hash', 70)).toBeUndefined();
  expect((await count()).every((counted) => counted === false)).toBe(true);
  expect((await links[1]?.find(id ?? 0))?.opened).toBe(30);
  expect((await links[0]?.page({ userId: 7, keyword: 'INV' }, 0, 10))?.total).toBe(1);
});
