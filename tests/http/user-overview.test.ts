/** A user's page: keys by their ends alone, when and from where the user was seen, what was done to the account. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

interface Overview {
  readonly user: { readonly username: string };
  readonly keys: readonly { readonly name: string; readonly key: string }[];
  readonly last_seen_time: number;
  readonly last_ip: string;
  readonly last_login_time: number;
  readonly audit: readonly { readonly action: string; readonly action_label: string; readonly actor: string }[] | null;
}

let api: ApiFixture;
let root: Headers;
let admin: { id: number; headers: Headers };
let ann: { id: number; headers: Headers };
let secret: string;

beforeAll(async () => {
  api = await createApiFixture();
  ({ headers: root } = await api.addUser('root', 100));
  admin = await api.addUser('admin', 10);
  ann = await api.addUser('ann', 1);
  ({ key: secret } = await api.gateway.services.tokens.create(ann.id, { name: 'laptop' }));
  await api.send('POST', '/api/user/manage', { id: ann.id, action: 'disable' }, root);
  await api.send('POST', '/api/user/manage', { id: ann.id, action: 'enable' }, admin.headers);
  // Of a channel with the same number.
  await api.send('DELETE', `/api/channel/${ann.id}`, undefined, root);
});
afterAll(() => api.close());

const get = async (id: number, as: Headers) => (await api.send('GET', `/api/user/overview/${id}`, undefined, as)).body;

test('an administrator sees keys by their ends, and not one that could be used', async () => {
  const body = await get(ann.id, admin.headers);
  const data = body.data as Overview;
  expect(data.user.username).toBe('ann');
  expect(data.keys).toMatchObject([{ name: 'laptop', key: `${secret.slice(0, 4)}…${secret.slice(-4)}` }]);
  expect(JSON.stringify(body)).not.toContain(secret);
  expect(data.audit).toBeNull();
});

test('when and from where a user was seen last follows from logins and keys', async () => {
  await api.gateway.database.query
    .updateTable('sessions')
    .set({ ip: '10.0.0.6' })
    .where('user_id', '=', ann.id)
    .execute();
  const seen = (await get(ann.id, root)).data as Overview;
  expect(Math.abs(seen.last_seen_time - Date.now() / 1000)).toBeLessThan(3600);
  expect(seen.last_ip).toBe('10.0.0.6');
  expect(Math.abs(seen.last_login_time - Date.now() / 1000)).toBeLessThan(3600);
  const later = Math.floor(Date.now() / 1000) + 500;
  await api.gateway.database.query
    .updateTable('tokens')
    .set({ accessed_at: later, last_ip: '10.0.0.7' })
    .where('user_id', '=', ann.id)
    .execute();
  expect((await get(ann.id, root)).data).toMatchObject({ last_seen_time: later, last_ip: '10.0.0.7' });
});

test('the threshold of a low balance comes from the user’s own setting, or from the site’s', async () => {
  expect((await get(ann.id, root)).data).toMatchObject({ low_balance_below: 1000 });
  await api.send(
    'PUT',
    '/api/user/setting',
    { notify_type: 'email', quota_warning_threshold: 70_000, notification_email: '' },
    ann.headers,
  );
  expect((await get(ann.id, root)).data).toMatchObject({ low_balance_below: 70_000 });
});

test('the super administrator sees what was done to the account, newest first, and to nothing else', async () => {
  const { audit } = (await get(ann.id, root)).data as Overview;
  expect(audit?.map(({ action, actor }) => [action, actor])).toEqual([
    ['user.manage', 'admin'],
    ['user.manage', 'root'],
  ]);
  expect(audit?.[0]?.action_label).toBe('管理用户');
});

test('a user sees no overview, an administrator none of those above', async () => {
  expect((await get(ann.id, ann.headers)).success).toBe(false);
  const rootId = Number(root['new-api-user']);
  expect((await get(rootId, admin.headers)).code).toBe('user_rank_read');
  expect((await get(999, root)).success).toBe(false);
});
