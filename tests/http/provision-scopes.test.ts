/** Declarative files by access tokens: comparing needs reading, applying what the single calls need, and no more is reached. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: { id: number; headers: Headers };
let ann: { id: number; headers: Headers };
beforeEach(async () => {
  api = await createApiFixture();
  root = await api.addUser('root', 100);
  ann = await api.addUser('ann', 1);
  await api.addUser('boss', 10);
});
afterEach(() => api.close());

const bearer = async (scopes: string): Promise<Headers> => {
  const { body } = await api.send('POST', '/api/access_token/', { name: 'ci', scopes }, root.headers);
  return {
    authorization: `Bearer ${(body.data as { token: string }).token}`,
    'new-api-user': String(root.id),
    'accept-language': 'en',
  };
};
const send = async (path: string, document: object, as: Headers) =>
  (await api.send('POST', path, { document: { version: 1, ...document } }, as)).body;
const diff = (document: object, as: Headers) => send('/api/provision/diff', document, as);
const apply = (document: object, as: Headers) => send('/api/provision/', document, as);

const channels = { channels: [{ name: 'c', type: 'openai', key: 'k', models: ['m'] }] };
const options = { options: { SystemName: 'Other' } };

test('comparing needs reading alone, and changes nothing', async () => {
  for (const scopes of ['read', 'channels:read,settings:read', 'write']) {
    const answer = await diff({ ...channels, ...options }, await bearer(scopes));
    expect(answer.data).toMatchObject([
      { action: 'update', kind: 'option' },
      { action: 'create', kind: 'channel' },
    ]);
  }
  expect(await diff({ ...channels, ...options }, await bearer('channels'))).toMatchObject({
    code: 'scope_too_small',
    message: expect.stringContaining('options'),
  });
  expect(await api.gateway.call('channel.list', {})).toEqual([]);
});

test('applying needs the scope of each section that the file has', async () => {
  expect(await apply(channels, await bearer('read'))).toMatchObject({ code: 'scope_too_small' });
  expect(await apply(channels, await bearer('channels:read,settings'))).toMatchObject({
    code: 'scope_too_small',
    message: expect.stringContaining('channels'),
  });
  expect(await apply(channels, await bearer('channels'))).toMatchObject({ data: [{ action: 'create' }] });
  expect(await apply(options, await bearer('channels'))).toMatchObject({ code: 'scope_too_small' });
  expect(await apply({ ...channels, ...options }, await bearer('channels,settings'))).toMatchObject({ success: true });
});

test('statements by mail need the scope of bills', async () => {
  const plans = { schedules: [{ user: 'ann' }] };
  expect(await apply(plans, await bearer('channels,settings'))).toMatchObject({
    code: 'scope_too_small',
    message: expect.stringContaining('schedules'),
  });
  expect(await apply(plans, await bearer('billing'))).toMatchObject({ data: [{ action: 'create', kind: 'schedule' }] });
  expect(await apply(plans, await bearer('billing'))).toMatchObject({ data: [{ action: 'unchanged' }] });
});

test.each([
  ['a new administrator', { username: 'new', role: 'root', password: 'password9' }],
  ['a higher role', { username: 'ann', role: 'admin' }],
  ['the password of an administrator', { username: 'boss', password: 'password9' }],
  ["its own user's password", { username: 'root', password: 'password9' }],
] as const)('a token makes itself no more than it is: %s', async (_what, user) => {
  for (const scopes of ['write', 'users'])
    expect(await apply({ users: [user] }, await bearer(scopes))).toMatchObject({ code: 'scope_too_small' });
  await api.login('root', 'password1');
  await api.login('boss', 'password1');
});

test('comparing guesses no passwords', async () => {
  const users = (password: string) => ({ users: [{ username: 'ann', password }] });
  const scoped = await bearer('read');
  expect((await diff(users('password9'), scoped)).data).toEqual((await diff(users('password1'), scoped)).data);
  expect((await diff(users('password9'), root.headers)).data).toMatchObject([{ fields: ['password: changed'] }]);
});

test("keys of other users need the scope over users, one's own do not", async () => {
  const token = (owner: string) => ({ tokens: [{ name: 't', owner }] });
  expect(await apply(token('root'), await bearer('tokens'))).toMatchObject({ success: true });
  expect(await apply(token('ann'), await bearer('tokens'))).toMatchObject({ code: 'scope_too_small' });
  expect(await apply(token('ann'), await bearer('tokens,users'))).toMatchObject({ success: true });
  // A key of an administrator would spend what is his.
  expect(await apply(token('boss'), await bearer('tokens,users'))).toMatchObject({ code: 'scope_too_small' });
  expect((await api.send('GET', '/api/token/?p=0&size=10', undefined, ann.headers)).body.data).toHaveLength(1);
});

test('an apply without changes leaves no row in the audit trail', async () => {
  const trail = async () =>
    ((await api.send('GET', '/api/audit/?page_size=50', undefined, root.headers)).body.data as { total: number }).total;
  const [made] = (await api.send('POST', '/api/channel/', { type: 1, name: 'c', key: 'k', models: 'm' }, root.headers))
    .body.data as [{ id: number }];
  const { headers } = root;
  await api.send('PUT', '/api/option/', { key: 'RetryTimes', value: '3' }, headers);
  await api.send('PUT', '/api/user/', { id: ann.id, password: 'password2' }, headers);
  const session = await api.login('ann', 'password2');
  const before = await trail();
  const again: readonly (readonly [string, string, object])[] = [
    ['PUT', '/api/option/', { key: 'RetryTimes', value: '3' }],
    ['POST', '/api/option/reset', { key: 'SystemName' }],
    ['POST', '/api/option/rest_model_ratio', {}],
    ['PUT', '/api/channel/', { id: made.id, name: 'c', key: 'k', weight: 0 }],
    ['PUT', '/api/user/', { id: ann.id, password: 'password2', username: 'ann' }],
    ['POST', '/api/provision/', { document: { version: 1, options: { RetryTimes: '3' } } }],
    ['POST', '/api/provision/', { document: { version: 1, ...options }, dry_run: true }],
    ['POST', '/api/provision/diff', { document: { version: 1, ...options } }],
  ];
  for (const [method, path, body] of again)
    expect([path, (await api.send(method, path, body, headers)).body.success]).toEqual([path, true]);
  expect(await trail()).toBe(before);
  expect((await api.send('GET', '/api/user/self', undefined, session)).body.success).toBe(true);
  await api.send('PUT', '/api/channel/', { id: made.id, key: 'other' }, headers);
  await api.send('PUT', '/api/user/', { id: ann.id, password: 'password3' }, headers);
  expect(await trail()).toBe(before + 2);
  expect((await api.send('GET', '/api/user/self', undefined, session)).status).toBe(401);
});

test('a balance that was owed when the process was killed is granted by the next call, once', async () => {
  const { options: stored } = api.gateway.services;
  await stored.setMeta('provision_grants', JSON.stringify([{ userId: ann.id, quota: 700 }]));
  const balance = async () =>
    ((await api.send('GET', '/api/user/self', undefined, ann.headers)).body.data as { quota: number }).quota;
  const before = await balance();
  await diff(options, root.headers);
  expect(await balance()).toBe(before);
  for (let times = 0; times < 2; times++) {
    expect(await apply({}, root.headers)).toMatchObject({ success: true });
    expect(await balance()).toBe(before + 700);
  }
  expect(await stored.meta('provision_grants')).toBe('');
});
