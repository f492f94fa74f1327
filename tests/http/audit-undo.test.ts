/** The trail shows before and after, and puts options, prices and channels back: through the API, by its rights. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditView } from '../../server/contract/entities.ts';
import { type ApiFixture, createApiFixture } from '../support/api.ts';

let api: ApiFixture;
let root: Record<string, string>;
let admin: Record<string, string>;
beforeAll(async () => {
  api = await createApiFixture();
  ({ headers: root } = await api.addUser('boss', 100));
  ({ headers: admin } = await api.addUser('helper', 10));
});
afterAll(() => api.close());

const send = async (method: string, path: string, body?: unknown, headers = root) =>
  (await api.send(method, path, body, headers)).body;
const read = async <Data>(path: string): Promise<Data> => (await send('GET', path)).data as Data;
const last = async (query = ''): Promise<AuditView> =>
  (await read<{ items: AuditView[] }>(`/api/audit/?p=1&page_size=1${query}`)).items[0] as AuditView;
const undo = (id: number, headers = root) => send('POST', `/api/audit/${id}/undo`, {}, headers);
const option = async (key: string): Promise<string> =>
  (await read<{ key: string; value: string }[]>('/api/option/')).find((one) => one.key === key)?.value ?? '';
const set = (key: string, value: string) => send('PUT', '/api/option/', { key, value });

describe('an option', () => {
  test('is put back, by a row of its own that can be put back in turn', async () => {
    await set('RetryTimes', '2');
    await set('RetryTimes', '5');
    const row = await last();
    expect(row).toMatchObject({
      action: 'option.set',
      actor: 'boss',
      changes: [{ kind: 'option', id: 'RetryTimes', before: '2', after: '5', hidden: false }],
      undoable: true,
    });
    expect(await undo(row.id)).toMatchObject({ success: true, data: { undone: 1 } });
    expect(await option('RetryTimes')).toBe('2');
    const again = await last();
    expect(again).toMatchObject({ action: 'audit.undo', changes: [{ before: '5', after: '2' }], undoable: true });
    expect(await undo(again.id)).toMatchObject({ success: true });
    expect(await option('RetryTimes')).toBe('5');
  });

  test('that was changed since stays as it is, and the refusal names it', async () => {
    await set('RetryTimes', '3');
    const { id } = await last();
    await set('RetryTimes', '4');
    expect(await undo(id)).toMatchObject({ success: false, code: 'audit_changed_since', message: /RetryTimes/ });
    expect(await option('RetryTimes')).toBe('4');
  });

  test('that had no value has none again', async () => {
    await send('DELETE', '/api/option/?key=MinTopUp');
    await set('MinTopUp', '7');
    await undo((await last()).id);
    expect(
      (await read<{ key: string; is_set: boolean }[]>('/api/option/details')).find((one) => one.key === 'MinTopUp'),
    ).toMatchObject({ is_set: false });
  });

  test('that is a secret says only that it changed, and stays', async () => {
    await set('SMTPToken', 'hush-one');
    await set('SMTPToken', 'hush-two');
    const row = await last();
    expect(row).toMatchObject({ changes: [{ hidden: true, before: null, after: null }], undoable: false });
    expect(JSON.stringify(await api.gateway.rows('SELECT * FROM audit'))).not.toContain('hush');
    expect(await undo(row.id)).toMatchObject({ success: false, code: 'audit_not_undoable' });
  });
});

describe('prices', () => {
  const ratio = async (model: string) => JSON.parse(await option('ModelRatio'))[model] as number | undefined;

  test('of one change are put back, those changed beside it since stay', async () => {
    await send('PUT', '/api/ratio/models', { models: { 'model-a': { input: 2, output: 4 } } });
    const row = await last();
    expect(row.action).toBe('ratio.set');
    expect(row.changes.map(({ id, member }) => `${id} ${member}`)).toContain('ModelRatio model-a');
    await send('PUT', '/api/ratio/models', { models: { 'model-b': { input: 6, output: 6 } } });
    expect(await undo(row.id)).toMatchObject({ success: true });
    expect([await ratio('model-a'), await ratio('model-b')]).toEqual([undefined, 3]);
  });
});

describe('a channel', () => {
  const add = async (fields: object = {}) =>
    (
      await send('POST', '/api/channel/', {
        ...{ type: 1, name: 'up', key: 'sk-hush-first', models: 'a,b', base_url: 'http://127.0.0.1:9' },
        ...fields,
      })
    ).data as { id: number };
  const get = (id: number) => read<{ status: number }>(`/api/channel/${id}`);
  const idOf = async (fields: object = {}): Promise<number> => {
    await add(fields);
    return (await read<{ id: number }[]>('/api/channel/?p=0&page_size=1'))[0]?.id ?? 0;
  };

  test('is put back in all that the change did', async () => {
    const id = await idOf();
    await send('PUT', '/api/channel/', {
      id,
      name: 'other',
      weight: 9,
      models: 'a,c',
      setting: '{"force_format":true}',
    });
    const row = await last();
    expect(row.changes.map(({ field, member, before, after }) => [field, member, before, after])).toEqual(
      expect.arrayContaining([
        ['name', null, 'up', 'other'],
        ['weight', null, '0', '9'],
        ['models', null, 'a,b', 'a,c'],
        ['setting', 'force_format', null, 'true'],
      ]),
    );
    expect(await undo(row.id)).toMatchObject({ success: true });
    expect(await get(id)).toMatchObject({ name: 'up', weight: 0, models: 'a,b' });
  });

  test('whose key changed with it is not', async () => {
    const id = await idOf({ name: 'keyed' });
    await send('PUT', '/api/channel/', { id, name: 'renamed', key: 'sk-hush-second' });
    const row = await last();
    expect(row).toMatchObject({ undoable: false });
    expect(JSON.stringify(row)).not.toContain('hush');
    expect(await undo(row.id)).toMatchObject({ code: 'audit_not_undoable' });
  });

  test('that is gone is not, and that it went is shown', async () => {
    const id = await idOf({ name: 'short-lived' });
    await send('PUT', '/api/channel/', { id, weight: 3 });
    const changed = await last();
    await send('DELETE', `/api/channel/${id}`);
    expect((await last()).changes).toContainEqual(
      expect.objectContaining({ field: 'name', before: 'short-lived', after: null }),
    );
    expect(await undo(changed.id)).toMatchObject({ code: 'audit_changed_since' });
    expect(await undo((await last()).id)).toMatchObject({ code: 'audit_not_undoable' });
  });

  test('of many that were changed at once is put back with them, each to its own', async () => {
    const ids = [await idOf({ name: 'one', status: 1 }), await idOf({ name: 'two', status: 2 })];
    await send('POST', '/api/channel/batch/status', { ids, status: 2 });
    const row = await last();
    expect(row.changes.map(({ id, before, after }) => [id, before, after])).toEqual([[String(ids[0]), '1', '2']]);
    await undo(row.id);
    expect([(await get(ids[0] ?? 0)).status, (await get(ids[1] ?? 0)).status]).toEqual([1, 2]);
  });
});

test('a call that names no tag follows no channel, and one that names a tag all of it', async () => {
  const { channels } = api.gateway.services;
  const [one, other] = [
    await api.gateway.channel('http://127.0.0.1:9'),
    await api.gateway.channel('http://127.0.0.1:9'),
  ];
  const { thingsOf, readThings } = await import('../../server/http/audited-things.ts');
  for (const tag of ['', '  ', undefined])
    expect(await thingsOf('channel.tag_disable', api.gateway.services, { tag })).toEqual([]);
  await channels.tagMany([one, other], 'blue');
  const refs = await thingsOf('channel.tag_disable', api.gateway.services, { tag: 'blue' });
  expect(refs).toHaveLength(2);
  expect(await readThings(api.gateway.services, [...refs, { kind: 'channel', id: '999999' }])).toHaveLength(2);
});

test('a user’s change is shown and not put back; password and address are only said to have changed', async () => {
  const { headers: _, ...user } = await api.addUser('somebody', 1);
  const { id } = user as unknown as { id: number };
  await send('PUT', '/api/user/', {
    id,
    username: 'somebody',
    display_name: 'Some Body',
    password: 'password-22',
    group: 'default',
  });
  const row = await last('&action=user.update');
  expect(row.changes).toContainEqual(expect.objectContaining({ field: 'display_name', after: 'Some Body' }));
  expect(row.changes).toContainEqual(expect.objectContaining({ field: 'password', hidden: true, after: null }));
  expect(await undo(row.id)).toMatchObject({ code: 'audit_not_undoable' });
});

test('entries are found by what was done, by whom, to what and when', async () => {
  await set('RetryTimes', '1');
  await set('RetryTimes', '6');
  const found = async (query: string): Promise<AuditView[]> =>
    (await read<{ items: AuditView[] }>(`/api/audit/?p=1&page_size=100&${query}`)).items;
  const now = Math.floor(Date.now() / 1000);
  for (const [query, holds] of [
    ['action=option.', (row: AuditView) => row.action.startsWith('option.')],
    ['actor=boss', (row: AuditView) => row.actor === 'boss'],
    ['target=RetryTimes', (row: AuditView) => row.target === 'RetryTimes'],
    [`from=${now - 600}&to=${now + 60}`, () => true],
  ] as const) {
    const rows = await found(query);
    expect(rows.length, query).toBeGreaterThan(0);
    expect(rows.every(holds), query).toBe(true);
  }
  expect(await found('actor=nobody')).toEqual([]);
  // A name is not a pattern.
  expect(await found('action=%25')).toEqual([]);
  expect(await found(`from=${now + 3600}`)).toEqual([]);
  expect(await found('to=1')).toEqual([]);
});

test('only the super administrator may, and no scope of a token', async () => {
  await set('RetryTimes', '1');
  await set('RetryTimes', '7');
  const { id } = await last();
  expect((await undo(id, admin)).success).toBe(false);
  const { token } = (await send('POST', '/api/access_token/', { name: 'scoped', scopes: 'logs,write,settings' }))
    .data as { token: string };
  const scoped = { authorization: `Bearer ${token}`, 'new-api-user': root['new-api-user'] ?? '' };
  expect(await undo(id, scoped)).toMatchObject({ success: false, code: 'scope_too_small' });
  expect(await option('RetryTimes')).toBe('7');
});

test('the chain holds over rows with and without changes', async () => {
  await api.gateway.services.audit.record({ action: 'x.y', actorId: 1, actor: 'a', ip: '', input: {} });
  await set('RetryTimes', '2');
  expect(await send('GET', '/api/audit/verify')).toMatchObject({ data: { broken: null } });
  const { id } = await last();
  await api.gateway.rows(`UPDATE audit SET changes = replace(changes, '"2"', '"9"') WHERE id = ${id}`);
  expect(await send('GET', '/api/audit/verify')).toMatchObject({ data: { broken: id } });
});
