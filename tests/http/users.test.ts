import { afterEach, beforeEach, expect, test } from 'vitest';
import { effectOf, type UserAction, userActions } from '../../server/domain/users/authority.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let admin: Headers;
let plain: Headers;
let rootId: number;
let adminId: number;
let plainId: number;

beforeEach(async () => {
  api = await createApiFixture();
  ({ id: rootId, headers: root } = await api.addUser('root', 100));
  ({ id: adminId, headers: admin } = await api.addUser('admin', 10));
  ({ id: plainId, headers: plain } = await api.addUser('plain', 1));
});
afterEach(() => api.close());

const userOf = async (id: number) =>
  (await api.send('GET', `/api/user/${id}`, undefined, root)).body.data as Record<string, unknown>;

test('a page holds everybody, newest first, closed accounts too, and no secret', async () => {
  await api.send('POST', '/api/user/token', {}, plain);
  await api.send('DELETE', '/api/user/self', undefined, plain);
  const { body } = await api.send('GET', '/api/user/?p=0&page_size=2', undefined, admin);
  expect(body.data).toMatchObject({ page: 1, page_size: 2, total: 4, items: [{ id: plainId }, { id: adminId }] });
  const [closed, open] = (body.data as { items: Record<string, unknown>[] }).items;
  expect(closed?.DeletedAt).toEqual(expect.any(String));
  expect(open?.DeletedAt).toBeNull();
  expect(JSON.stringify(body)).not.toMatch(/password|hash|access_token|argon/);
  expect((await api.send('GET', '/api/user/?p=9&page_size=2', undefined, admin)).body.data).toMatchObject({
    items: [],
  });
});

test('search takes the keyword as it is written', async () => {
  await api.addUser('a_b%c', 1);
  const found = async (keyword: string, group = '', more = '') =>
    (
      (
        await api.send(
          'GET',
          `/api/user/search?keyword=${encodeURIComponent(keyword)}&group=${group}${more}&p=1&page_size=10`,
          undefined,
          admin,
        )
      ).body.data as { items: { username: string }[] }
    ).items.map((user) => user.username);
  expect(await found('_b%')).toEqual(['a_b%c']);
  expect(await found('%')).toEqual(['a_b%c']);
  expect(await found('lai')).toEqual(['plain']);
  expect(await found(String(adminId))).toContain('admin');
  expect(await found('', 'default')).toHaveLength(5);
  expect(await found('', 'nobody')).toEqual([]);
  expect(await found("' OR 1=1 --")).toEqual([]);
  expect(await found('', '', '&role=100')).toEqual(['root', 'tester']);
  expect(await found('', '', '&role=&status=')).toHaveLength(5);
  await api.send('POST', '/api/user/manage', { id: plainId, action: 'disable' }, admin);
  expect(await found('', 'default', '&status=2')).toEqual(['plain']);
  await api.send('POST', '/api/user/manage', { id: plainId, action: 'delete' }, admin);
  expect(await found('', '', '&status=2')).toEqual([]);
});

test.each([
  [{ username: '', password: 'password1' }, '用户名或密码为空'],
  [{ username: 'new', password: '' }, '用户名或密码为空'],
  [{ username: 'x'.repeat(13), password: 'password1' }, '输入不合法：用户名长度须为 1 到 12 个字符'],
  [{ username: 'new', password: 'seven77' }, '输入不合法：密码长度须为 8 到 20 个字符'],
  [{ username: 'new', password: 'x'.repeat(21) }, '输入不合法：密码长度须为 8 到 20 个字符'],
  [{ username: 'plain', password: 'password1' }, '用户名已存在，或已注销'],
])('creating %o is refused', async (fields, message) => {
  expect((await api.send('POST', '/api/user/', fields, admin)).body).toMatchObject({ success: false, message });
});

test('a created user is an ordinary one whatever the request says', async () => {
  const fields = { username: 'new', password: 'password1', role: 100, quota: 5000, id: 1 };
  const { body } = await api.send('POST', '/api/user/', fields, admin);
  expect(body).toMatchObject({ success: true, data: { username: 'new', display_name: 'new', role: 1, quota: 0 } });
  await api.login('new', 'password1');
});

test('the name of a closed account stays taken', async () => {
  await api.send('POST', '/api/user/manage', { id: plainId, action: 'delete' }, admin);
  const { body } = await api.send('POST', '/api/user/', { username: 'plain', password: 'password1' }, admin);
  expect(body.message).toBe('用户名已存在，或已注销');
});

test('an edit takes the fields of the form alone', async () => {
  const record = {
    ...(await userOf(plainId)),
    display_name: 'Plain One',
    password: '',
    role: 100,
    status: 2,
    aff_quota: 9,
  };
  expect((await api.send('PUT', '/api/user/', record, admin)).body.success).toBe(true);
  expect(await userOf(plainId)).toMatchObject({
    display_name: 'Plain One',
    role: 1,
    status: 1,
    aff_quota: 0,
    quota: 0,
  });
  expect((await api.send('GET', '/api/user/self', undefined, plain)).body.success).toBe(true);
});

test('a new password ends the sessions of the user', async () => {
  await api.send('PUT', '/api/user/', { id: plainId, password: 'password2' }, admin);
  expect((await api.send('GET', '/api/user/self', undefined, plain)).status).toBe(401);
  await api.login('plain', 'password2');
});

test('quota moves through the ledger, with a log row that names the actor', async () => {
  const put = async (fields: Record<string, unknown>) =>
    (await api.send('PUT', '/api/user/', { id: plainId, ...fields }, admin)).body;
  expect((await put({ quota: 700 })).data).toMatchObject({ quota: 700 });
  expect((await put({ add_quota: -200, reason: ' 退款 ' })).data).toMatchObject({ quota: 500 });
  expect(await put({ add_quota: -501 })).toMatchObject({ code: 'user_insufficient' });
  expect(await put({ quota: -1 })).toMatchObject({ code: 'user_insufficient' });
  expect(await put({ quota: 2 ** 60 })).toMatchObject({ success: false });
  expect((await put({ quota: 500 })).data).toMatchObject({ quota: 500 });
  const own = (await api.send('GET', '/api/log/self?type=3', undefined, plain)).body.data as {
    items: { content: string; other: string }[];
  };
  expect(own.items.map((row) => row.content)).toEqual([
    '管理员将用户额度从 ＄0.001400 额度 修改为 ＄0.001000 额度，原因：退款',
    '管理员将用户额度从 ＄0.000000 额度 修改为 ＄0.001400 额度',
  ]);
  expect(JSON.stringify(own)).not.toContain('admin_info');
  const all = (await api.send('GET', '/api/log/?type=3', undefined, admin)).body.data as { items: { other: string }[] };
  expect(JSON.parse(all.items[0]?.other ?? '')).toMatchObject({ quota_delta: -200, admin_info: { admin_id: adminId } });
  expect(await api.gateway.verify()).toEqual([]);
});

test('saving a form opened before a charge does not give the charge back', async () => {
  await api.send('PUT', '/api/user/', { id: plainId, quota: 1000 }, admin);
  const loaded = await userOf(plainId);
  await api.gateway.ledger.execute({
    type: 'settle',
    ref: 'request-1',
    userId: plainId,
    tokenId: 0,
    channelId: 0,
    amount: 300,
    at: 1,
    log: null,
    tokens: 10,
    model: 'm',
    username: 'plain',
  });
  await api.send('PUT', '/api/user/', { ...loaded, display_name: 'x' }, admin);
  expect(await userOf(plainId)).toMatchObject({ quota: 700, used_quota: 300 });
  await api.send('PUT', '/api/user/', { ...loaded, quota: 1500 }, admin);
  expect(await userOf(plainId)).toMatchObject({ quota: 1200 });
});

test('a group must exist', async () => {
  const put = async (group: string) => (await api.send('PUT', '/api/user/', { id: plainId, group }, admin)).body;
  expect(await put('nowhere')).toMatchObject({ success: false, code: 'not_found' });
  expect((await put('vip')).data).toMatchObject({ group: 'vip' });
  expect((await put('')).data).toMatchObject({ group: 'vip' });
});

test.each([
  ['admin', 'root', 'disable', '无权更新同权限等级或更高权限等级的用户信息'],
  ['admin', 'admin', 'demote', '无权更新同权限等级或更高权限等级的用户信息'],
  ['admin', 'plain', 'promote', '普通管理员用户无法提升其他用户为管理员'],
  ['root', 'root', 'disable', '无法禁用超级管理员用户'],
  ['root', 'root', 'delete', '无法删除超级管理员用户'],
  ['root', 'root', 'demote', '无法降级超级管理员用户'],
  ['root', 'admin', 'promote', '该用户已经是管理员'],
  ['root', 'plain', 'demote', '该用户已经是普通用户'],
] as const)('%s may not %s %s', async (actor, target, action, message) => {
  const headers = actor === 'root' ? root : admin;
  const id = { root: rootId, admin: adminId, plain: plainId }[target];
  expect((await api.send('POST', '/api/user/manage', { id, action }, headers)).body).toMatchObject({
    success: false,
    message,
  });
});

test('actions of manage take effect at once', async () => {
  const manage = async (id: number, action: string, headers = admin) =>
    (await api.send('POST', '/api/user/manage', { id, action }, headers)).body;
  expect(await manage(plainId, 'disable')).toMatchObject({ success: true, data: { role: 1, status: 2 } });
  expect((await api.send('GET', '/api/user/self', undefined, plain)).body.message).toBe('用户已被封禁');
  expect((await api.send('GET', '/api/status', undefined, plain)).body.success).toBe(true);
  expect(await manage(plainId, 'enable')).toMatchObject({ data: { status: 1 } });
  expect(await manage(plainId, 'promote', root)).toMatchObject({ data: { role: 10 } });
  expect((await api.send('GET', '/api/user/', undefined, plain)).body.success).toBe(true);
  expect(await manage(plainId, 'disable')).toMatchObject({ code: 'user_rank_update' });
  expect(await manage(plainId, 'demote', root)).toMatchObject({ data: { role: 1 } });
  expect((await api.send('GET', '/api/user/', undefined, plain)).body.code).toBe('role_too_low');
  expect(await manage(plainId, 'delete')).toMatchObject({ success: true });
  expect(await manage(plainId, 'enable')).toMatchObject({ message: '用户不存在' });
  expect(await manage(adminId, 'crown', root)).toMatchObject({ code: 'params_invalid', params: { field: 'action' } });
});

test('reading, changing and deleting upwards is refused', async () => {
  const answer = async (method: string, path: string, body?: unknown) =>
    (await api.send(method, path, body, admin)).body;
  expect((await answer('GET', `/api/user/${rootId}`)).message).toBe('无权获取同级或更高等级用户的信息');
  expect((await answer('PUT', '/api/user/', { id: rootId, password: 'password2' })).message).toBe(
    '无权更新同权限等级或更高权限等级的用户信息',
  );
  expect((await answer('DELETE', `/api/user/${rootId}`)).message).toBe('无权删除同权限等级或更高权限等级的用户');
  expect((await answer('GET', '/api/user/999999')).message).toBe('用户不存在');
});

test('a closed account is gone everywhere: session, access token, keys', async () => {
  const access = String((await api.send('GET', '/api/user/token', undefined, plain)).body.data);
  await api.send('POST', '/api/token/', { name: 't', unlimited_quota: true }, plain);
  expect((await api.send('DELETE', `/api/user/${plainId}`, undefined, admin)).body).toMatchObject({ success: true });
  expect((await api.send('GET', '/api/user/self', undefined, plain)).status).toBe(401);
  const byToken = { authorization: access, 'new-api-user': String(plainId) };
  expect((await api.send('GET', '/api/user/self', undefined, byToken)).body.code).toBe('access_token_invalid');
  expect((await api.send('POST', '/api/user/login', { username: 'plain', password: 'password1' })).body.code).toBe(
    'credentials_wrong',
  );
  await api.gateway.sync();
  expect(api.gateway.state.user(plainId)).toBeUndefined();
  const { rows } = api.gateway;
  expect(await rows('SELECT user_id FROM sessions WHERE user_id = ?', plainId)).toEqual([]);
  expect(await rows('SELECT id FROM tokens WHERE user_id = ? AND deleted_at IS NULL', plainId)).toEqual([]);
});

test('people change their own name and password; other sessions end', async () => {
  const elsewhere = await api.login('plain', 'password1');
  const put = async (fields: Record<string, unknown>) => (await api.send('PUT', '/api/user/self', fields, plain)).body;
  expect(await put({ password: 'short' })).toMatchObject({ code: 'input_invalid' });
  expect(await put({ password: 'password2', original_password: 'wrong' })).toMatchObject({
    code: 'user_password_wrong',
  });
  expect(await put({ display_name: 'Me', role: 100, quota: 1_000_000, username: 'plain' })).toMatchObject({
    success: true,
  });
  expect(await put({ password: 'password2', original_password: 'password1' })).toMatchObject({ success: true });
  expect((await api.send('GET', '/api/user/self', undefined, plain)).body.data).toMatchObject({
    display_name: 'Me',
    username: 'plain',
    role: 1,
    quota: 0,
  });
  expect((await api.send('GET', '/api/user/self', undefined, elsewhere)).status).toBe(401);
});

test('the super administrator cannot close the own account', async () => {
  expect((await api.send('DELETE', '/api/user/self', undefined, root)).body.message).toBe('不能删除超级管理员账户');
});

test('no sequence of actions raises anybody to the actor’s level', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  for (let round = 0; round < 10_000; round++) {
    const people = [1, 1, 10, 100].map((role) => ({ role }));
    for (let step = 0; step < 6; step++) {
      const actor = people[random(people.length)] ?? { role: 1 };
      const target = people[random(people.length)] ?? { role: 1 };
      const before = target.role;
      try {
        target.role = effectOf(userActions[random(userActions.length)] as UserAction, actor, target).role ?? before;
      } catch {
        continue;
      }
      if (target.role > before) expect(actor.role).toBeGreaterThan(target.role);
    }
    expect(people.filter((one) => one.role === 100)).toHaveLength(1);
  }
});

test('a new name has no @, and where an older one reads like an address, it is the name that logs in', async () => {
  const made = await api.send('POST', '/api/user/', { username: 'v@x.co', password: 'password1' }, root);
  expect(made.body).toMatchObject({ success: false, code: 'input_invalid' });
  const renamed = await api.send('PUT', '/api/user/', { id: plainId, username: 'v@x.co' }, root);
  expect(renamed.body).toMatchObject({ success: false, code: 'input_invalid' });
  const { users } = api.gateway.services;
  const { database } = api.gateway;
  // The address belongs to whom came first, then to whom came last.
  for (const [named, addressed] of [
    [adminId, plainId],
    [plainId, adminId],
  ] as const) {
    const set = (id: number, change: object) =>
      database.query.updateTable('users').set(change).where('id', '=', id).execute();
    await set(addressed, { username: `u${addressed}`, email: 'v@x.co' });
    await set(named, { username: 'v@x.co', email: '' });
    expect((await users.findByLogin('v@x.co'))?.id).toBe(named);
  }
});
