import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let rootId: number;

beforeEach(async () => {
  api = await createApiFixture();
  ({ id: rootId, headers: root } = await api.addUser('root', 100));
});
afterEach(() => api.close());

const rows = async () =>
  (
    (await api.send('GET', '/api/audit/?page_size=50', undefined, root)).body.data as {
      items: Record<string, unknown>[];
    }
  ).items;

test('privileged changes leave a row, secrets do not', async () => {
  const started = Math.floor(Date.now() / 1000);
  const put = (key: string, value: string) => api.send('PUT', '/api/option/', { key, value }, root);
  await put('RetryTimes', '3');
  await put('SMTPToken', 'canary-option');
  await put('RetryTimes', 'many');
  await api.send('POST', '/api/user/', { username: 'new', password: 'canary-pass' }, root);
  await api.send(
    'POST',
    '/api/channel/',
    { type: 1, name: 'up', key: 'canary-key', models: 'm', setting: '{"proxy":"http://u:canary-proxy@h"}' },
    root,
  );
  await api.send('POST', '/api/token/', { name: 'mine', unlimited_quota: true }, root);
  const trail = await rows();
  expect(trail.map((row) => [row.action, row.actor, row.actor_id, row.target])).toEqual([
    ['channel.create', 'root', rootId, 'up'],
    ['user.create', 'root', rootId, 'new'],
    ['option.set', 'root', rootId, 'SMTPToken'],
    ['option.set', 'root', rootId, 'RetryTimes'],
  ]);
  for (const { created_at: at } of trail) {
    expect(at).toBeGreaterThanOrEqual(started);
    expect(at).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
  }
  expect(JSON.parse(String(trail[3]?.detail))).toEqual({ key: 'RetryTimes', value: '3' });
  expect(JSON.stringify(trail)).not.toContain('canary');
});

test('secrets in members of a member leave none either', async () => {
  const channel = { type: 1, name: 'up', key: 'canary-key', models: 'm', setting: '{"proxy":"http://u:canary@h"}' };
  await api.send('POST', '/api/channel/', { mode: 'single', channel }, root);
  const [row] = await rows();
  expect(row).toMatchObject({ action: 'channel.create' });
  expect(JSON.parse(String(row?.detail))).toEqual({
    mode: 'single',
    channel: '{"type":1,"name":"up","key":"***","models":"m","setting":"***"}',
  });
});

test('secrets at any depth and of any form leave none, figures and switches of their names stay', async () => {
  const input = {
    many: [{ key: 'canary', id: 3 }, { in: { password: 'canary', token: ['canary'], secret: { of: 'canary' } } }],
    figures: { key: 2.5, pass_through: true, setting: null, tokens: 'all' },
  };
  await api.gateway.services.audit.record({ action: 'channel.create', actorId: 1, actor: 'a', ip: '', input });
  const [row] = await rows();
  expect(JSON.parse(String(row?.detail))).toEqual({
    many: '[{"key":"***","id":3},{"in":{"password":"***","token":"***","secret":"***"}}]',
    figures: '{"key":2.5,"pass_through":true,"setting":null,"tokens":"all"}',
  });
});

test('what an earlier build kept of a channel is shown without its secrets, whole or cut off', async () => {
  const channel = { type: 1, key: 'canary-key', name: 'up "key":"no"', setting: '{"proxy":"http://u:canary@h"}' };
  const details = [
    { mode: 'single', channel: JSON.stringify(channel) },
    { channel: '{"name":"up","key":"canary-cut-off…' },
    { value: '{"gpt-4o":1}', list: '["a"]' },
  ];
  for (const [at, detail] of details.entries()) {
    await api.gateway.services.audit.record({ action: 'channel.create', actorId: 1, actor: 'a', ip: '', input: {} });
    const { query } = api.gateway.database;
    await query
      .updateTable('audit')
      .set({ detail: JSON.stringify(detail) })
      .where('id', '=', at + 1)
      .execute();
  }
  expect((await rows()).reverse().map(({ detail }) => JSON.parse(String(detail)))).toEqual([
    { mode: 'single', channel: JSON.stringify({ ...channel, key: '***', setting: '***' }) },
    { channel: '{"name":"up","key":"***' },
    details[2],
  ]);
});

test('what was done is said in the language of the reader, of a list and of one entry; a call that is none of this build keeps its id', async () => {
  await api.send('PUT', '/api/option/', { key: 'RetryTimes', value: '3' }, root);
  await api.gateway.services.audit.record({ action: 'gone.call', actorId: 1, actor: 'a', ip: '', input: {} });
  const labels = async (language: string, path: string) => {
    const { data } = (await api.send('GET', path, undefined, { ...root, 'accept-language': language })).body;
    const { items = [data] } = data as { items?: readonly unknown[] };
    return (items as readonly { action_label: string }[]).map((row) => row.action_label);
  };
  expect(await labels('en', '/api/audit/')).toEqual(['gone.call', 'Set an option']);
  expect(await labels('zh', '/api/audit/')).toEqual(['gone.call', '修改配置项']);
  expect(await labels('zh', '/api/audit/1')).toEqual(['修改配置项']);
  expect(await labels('en', '/api/audit/2')).toEqual(['gone.call']);
});

test('an entry names the order, or whose budget it was, and what was done without what explains the call', async () => {
  const { audit } = api.gateway.services;
  const done = { actorId: 1, actor: 'a', ip: '' };
  for (const [action, input] of [
    ['wallet.refund', { trade_no: 'T1', money: '46.00' }],
    ['budget.set', { holder: 'group', subject: 'vip', window: 'day' }],
    ['budget.set', { holder: 'site', subject: '', window: 'day' }],
    ['budget.reset', { id: 7 }],
  ] as const)
    await audit.record({ ...done, action, input });
  const { data } = (await api.send('GET', '/api/audit/', undefined, { ...root, 'accept-language': 'en' })).body;
  const { items } = data as { items: readonly { action_label: string; target: string }[] };
  expect(items.map(({ action_label: label, target }) => [label, target])).toEqual([
    ['Take off what was used in the current window', '7'],
    ["Set a holder's budget for a window", 'site'],
    ["Set a holder's budget for a window", 'vip'],
    ['Note that a paid order was given back', 'T1'],
  ]);
});

test('a row that was changed, removed or slipped in breaks the chain', async () => {
  for (const value of ['1', '2', '3']) await api.send('PUT', '/api/option/', { key: 'RetryTimes', value }, root);
  const verify = async () => (await api.send('GET', '/api/audit/verify', undefined, root)).body.data;
  const { rows } = api.gateway;
  expect(await verify()).toEqual({ checked: 3, broken: null });
  await rows("UPDATE audit SET actor = 'else' WHERE id = 2");
  expect(await verify()).toEqual({ checked: 1, broken: 2 });
  await rows("UPDATE audit SET actor = 'root' WHERE id = 2");
  expect(await verify()).toEqual({ checked: 3, broken: null });
  await rows('DELETE FROM audit WHERE id = 2');
  expect(await verify()).toEqual({ checked: 1, broken: 3 });
});

test('the trail is the super administrator’s', async () => {
  const { headers } = await api.addUser('admin', 10);
  expect((await api.send('GET', '/api/audit/', undefined, headers)).body.code).toBe('role_too_low');
});
